"""What lies behind each error of Kafka's, and what to do about it, in an operator's words.

advice.py   the form of one entry
records.py, groups.py, transactions.py, security.py, cluster.py, quorum.py   entries by subject
catalog.py  all of them by name
librdkafka.py   the errors that librdkafka makes up on its own side
search.py   from what somebody typed (a number, a name, an exception, part of one) to errors
"""
