"""What explains kdiag and Kafka without asking a cluster.

command.py      `kdiag help`: its arguments
topics.py       the topics, as Markdown
search.py       which of them speak of a word
errcode.py      `kdiag errcode`
man.py          the man pages
completion.py   `kdiag completion`; the scripts themselves are in scripts/
"""
