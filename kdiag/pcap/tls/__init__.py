"""Recorded TLS connections, opened with a key log.

record.py      bytes of one direction -> records
handshake.py   records in the clear -> hellos and other messages
keylog.py      the secrets, found by the client random
keylog_file.py those in files of any size, which are searched and not kept
suite.py       cipher suites: numbers, names, meaning
keys.py        both hellos and the secrets -> keys of both directions
cipher.py      opens one record with one key; alone knows the library `cryptography`
direction.py   one direction: its keys one after another, and its place after a loss
connection.py  both directions: bytes in, application data and facts out
facts.py       versions, names, alerts: known with or without keys
stream.py      the same as segments, so that the bytes inside are read like any others
"""
