"""`kdiag latency`.

options     the options, and the plan of a measurement
run         measures, judges, prints
text        the tables
document    the document
page        the page
"""
