"""`kdiag check`.

options     the options, and the plan of a check
run         connects, checks, prints
text        the rows, for people and for programs
nagios      one status line and four exit codes instead, for monitoring systems
"""
