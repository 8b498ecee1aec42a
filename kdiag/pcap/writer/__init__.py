"""Capture files, written: of exchanges that nobody captured, or of packets that somebody did.

exchange_writer.py    exchanges, as they complete -> packets in the order of their times
connection.py         one connection: handshake, frames as segments, end
packet.py             the bytes of one packet, checksums included
savefile.py           a pcap file, written packet by packet

extract.py            the packets of some connections of a capture, without secrets
packet_owners.py      which connection each packet belongs to
stream_masks.py       which bytes of each direction are, or may be, secret
unnamed_responses.py  the secrets in responses to requests that nobody saw
packet_file.py        a pcap or pcapng file, written block by block
"""
