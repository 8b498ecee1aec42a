"""Everything that commands share that ask a cluster.

run             the frame: time limit, errors, exit code
session         a client of the cluster, traced and recorded as options say
destination     the nodes that `--to` names
trace           `--trace`: each exchange as a line
debug_log       `--debug`: the log of the library
"""
