"""Recorded traffic: packets become TCP segments, ordered bytes, frames, and at last exchanges.

file.py     an input (file or pipe, compressed or not) -> its bytes, a window at a time
savefile.py, pcapng.py   the bytes of a window -> blocks of whole packets, as columns
packet.py   a block of packets -> columns of TCP segments (`SegmentBatch`), never an object each;
            link.py, ip.py, defragment.py and tunnel.py take off the layers before
reader.py   all inputs of a run, in order -> their segments
stream.py   the segments of one direction -> bytes in order, gaps named
detect.py   the first bytes of a connection -> which protocol it speaks, and which end serves
tls.py      the bytes of a TLS connection, with the secrets of keylog.py -> its application data
decoder.py  all of it, streaming: `Exchange`, `Gap` and `Connection` values as they complete
"""
