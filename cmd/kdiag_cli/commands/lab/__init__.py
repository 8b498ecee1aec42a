"""`kdiag lab`: a cluster in this process, for as long as the program runs.

command    its arguments and options
options    what they ask for, read and checked
access     listeners, users and certificates, and the settings that clients need
events     what a program reads: a JSON document a line
screen     what a person looks at: the state, written over
run        starts the lab, says where it is, and waits for the end
"""
