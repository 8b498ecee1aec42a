"""The clients of a scenario: each a thread with connections of its own, or a program.

scenario_thread.py     what all threads have: a client of the cluster, an end, a failure
record_writers.py      writes records, in transactions too
request_sender.py      sends requests of any API
group_member.py        is a member of a group, and does what it is told
topic_reader.py         follows a topic as `kdiag tail` does
foreign_program.py     runs a program of somebody else's
"""
