"""`kdiag lab proxy`: faults in front of a real cluster.

command    its arguments and options
run        starts the proxy, says where it is, and waits for the end
"""
