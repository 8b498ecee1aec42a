"""`kdiag lab fault`: the faults of a lab or a proxy that runs, by its control port.

command        add, list, remove and schema, with their arguments and options
run            what they do and print
control_token  the file that lets them in
"""
