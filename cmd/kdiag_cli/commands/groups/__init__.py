"""`kdiag groups`: every group of a cluster, or all about some.

command.py     its arguments and options
options.py     validated; which groups are wanted
run.py         one look
looks.py       the look itself, and the two of --stuck
watch.py       one look after another, with rates
text.py        tables for people
document.py    JSON for programs
metrics.py     the same for Prometheus, and the status line for Nagios
"""
