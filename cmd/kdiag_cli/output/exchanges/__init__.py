"""Exchanges for people.

lines    exchanges, gaps and connections as lines, in columns on a terminal
text     the words in them: API, latency, why a request was not answered
"""
