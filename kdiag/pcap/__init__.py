"""Recorded traffic: packets become TCP segments, ordered bytes, frames, and at last exchanges.

file.py     bytes of a capture file (pcap, pcapng, compressed, stdin) -> blocks of packets
packet.py   a block of packets -> columns of TCP segments (`SegmentBatch`), never an object each
stream.py   the segments of one direction -> bytes in order, gaps named
detect.py   the first bytes of a connection -> which protocol it speaks, and which end serves
decoder.py  all of it, streaming: `Exchange`, `Gap` and `Connection` values as they complete
"""
