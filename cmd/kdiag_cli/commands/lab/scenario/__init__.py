"""`kdiag lab run` and `kdiag lab scenarios`: trouble made on purpose, and whether kdiag finds it.

command.py     the commands, their arguments and options
run.py         runs scenarios, and lists those that come with kdiag
text.py        what came of them, for people, for programs and as JUnit XML
"""
