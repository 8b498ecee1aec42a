"""Diagnostics and protocol toolkit for Apache Kafka.

The protocol is a value; input and output are drivers. Bytes become frames, frames become messages,
a request and its response become an exchange; every diagnosis reads exchanges.
"""

__version__ = "0.1.0"
