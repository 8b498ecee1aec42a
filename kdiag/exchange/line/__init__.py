"""What exchanges are about, in words: one line each, for a person who reads many of them.

line.py          an exchange -> its line, put together from the sentences of its API
records.py, groups.py, transactions.py, administration.py, cluster.py
                 one sentence for the request and one for the response of each API
phrase.py        counts, sizes, lists, topics with partitions
"""
