"""`kdiag check`.

options     the options, and the plan of a check
run         connects, checks, prints
text        the rows, for people and for programs; the worst, for monitoring systems
"""
