"""What explains kdiag and Kafka without asking anybody.

command.py      `kdiag help`: its arguments
topics.py       the topics, as Markdown
errcode.py      `kdiag errcode`
completion.py   `kdiag completion`; the scripts themselves are in scripts/
"""
