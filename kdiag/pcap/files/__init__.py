"""Capture files: bytes in, blocks of whole packets out.

window.py   an input (file, pipe, packed or not) -> its bytes, a window of them at a time
tar.py      the first file in an archive
pcap.py     the classic format: one header, then packets
pcapng.py   the newer one: sections, interfaces, secrets, packets
capture_facts.py  a capture as a file: its size, its packets, its times, its damage
time_order.py  packets that were written late, in the order of their times
block.py    the packets of a window as columns: offset, length, time, link type
"""
