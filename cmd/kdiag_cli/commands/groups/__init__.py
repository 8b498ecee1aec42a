"""`kdiag groups`: every group of a cluster, or all about some.

command.py     its arguments and options
options.py     validated; which groups are wanted
run.py         the frame: what is printed, and the exit code
watch.py       the look itself; two of them for --stuck, and one after another with rates
text.py        tables for people
document.py    JSON for programs
metrics.py     the same for Prometheus, and the status line for Nagios
"""
