"""Recorded traffic: packets become TCP segments, ordered bytes, frames, and at last exchanges.

file.py     an input (file or pipe, compressed or not) -> its bytes, a window at a time
savefile.py, pcapng.py   the bytes of a window -> blocks of whole packets, as columns
packet.py   a block of packets -> columns of TCP segments (`SegmentBatch`), never an object each;
            link.py, ip.py, defragment.py and tunnel.py take off the layers before
reader.py   all inputs of a run, in order -> their segments
flow_rows.py   the segments of a batch, sorted by connection and direction, whole columns at a time
flow.py     one connection: its beginning and end, two directions, what they carry (content.py)
stream.py   the segments of one direction -> bytes in order, gaps named
opening.py, detect.py   the first bytes -> which protocol a connection speaks, and which end asks
frame_cutter.py   bytes in order -> frames; frame_stream.py searches for the next one (resync.py,
            frame_looks.py) where a loss has hidden its place
matcher.py  frames -> exchanges
unmatched_responses.py, trial.py   a response whose request was lost -> what it answers
tls.py      the bytes of a TLS connection, with the secrets of keylog.py -> its application data
tcp_tracker.py  the same segments, if asked: what TCP did. tcp_half.py looks at one direction,
            tcp_odd.py at what came again, tcp_waits.py at who waited for whom
decoder.py  all of it, streaming: `Exchange`, `Gap` and `Connection` values as they complete

And back: exchange_writer.py makes the packets that would have carried exchanges, and a file of them
(synthetic_connection.py, tcp_packet.py, savefile_writer.py).
"""
