"""`kdiag txn`: open transactions, those that hang, and what ends them.

command.py     its commands, their arguments and options
run.py         the look, and the end of a transaction
text.py        tables for people, JSON for programs
"""
