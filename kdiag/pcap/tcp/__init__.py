"""One TCP connection: the bytes of each direction in order, and facts about each.

sorted_batch.py   the segments of a batch by connection and direction, whole columns at a time
segments.py       their payloads as plain lists, which all that follows hands on
reassembly.py     one direction: segments in any order -> bytes in order, gaps named
extent.py         where in the capture a connection and its bytes are
strays.py         packets whose numbers do not fit their connection
attempt.py        connections that are no more than a SYN so far
silence.py        connections that have been silent for so long that they are ended
sightings.py      connections that are others once more, as before and after NAT
counts.py         what a decoder counts

tracker.py        one connection as facts of TCP: handshake, options, both directions
direction.py      one direction: round trips, windows, retransmissions and reordering
closed_windows.py receivers that closed their window, in a pass over whole columns
waits.py          who waited for whom: the window, the network, the program
sample.py         a bounded number of values that stands for any number
"""
