"""Capture files: bytes in, blocks of whole packets out.

window.py   an input (file, pipe, packed or not) -> its bytes, a window of them at a time
pcap.py     the classic format: one header, then packets
pcapng.py   the newer one: sections, interfaces, secrets, packets
capture_facts.py  a capture as a file: its size, its packets, its times, its damage
block.py    the packets of a window as columns: offset, length, time, link type
"""
