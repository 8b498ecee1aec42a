"""Recorded traffic: packets become TCP segments, ordered bytes, frames, and at last exchanges.

    files/      an input (file or pipe, compressed or not) -> blocks of whole packets, as columns
    packets/    link layers, IP and tunnels taken off -> columns of TCP segments, no object for each
    tcp/        segments sorted by connection and direction -> bytes in order, gaps named; and, if
                asked, the facts of TCP: round trips, windows, retransmissions
    tls/        encrypted bytes and the secrets of a key log -> the bytes inside
    kafka/      bytes in order -> Kafka or not, frames, and requests matched with responses

    reader.py   all inputs of a run, in order -> their segments; live.py: those of an interface
    decoder.py  all of it, streaming: `Exchange`, `Gap` and `Connection` values as they complete
    flow.py     one connection: its beginning and end, and its two directions
    content.py  its protocol: detected at its start, then read
    look_ahead.py   the topic names of a whole capture, before its exchanges are printed

And back: writer/ makes the packets that would have carried exchanges, and a file of them.
"""
