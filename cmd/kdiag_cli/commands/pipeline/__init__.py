"""`kdiag pipeline`: run, stream and report.

options     the options of all three, and of Spark
spark       a session of Spark that starts and ends quietly
run         one run, or one report
stream      tables that grow with a folder of captures
"""
