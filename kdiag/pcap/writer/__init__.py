"""Exchanges back into packets and capture files.

exchange_writer.py  exchanges, as they complete -> packets in the order of their times
connection.py       one connection: handshake, frames as segments, end
packet.py           the bytes of one packet, checksums included
savefile.py         a pcap file, written
"""
