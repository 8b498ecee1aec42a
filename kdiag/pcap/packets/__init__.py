"""Packets in columns: link layers, IP and tunnels taken off, TCP segments left.

link.py       link types and VLAN tags -> IP packets
ip.py         IPv4, IPv6 and its extension headers -> payloads
fragments.py  IP fragments -> whole datagrams
tunnel.py     payloads that hold IP packets themselves: VXLAN, GRE, IP in IP
layer.py      the columns in between: packets at one layer's header
network.py    the VLAN or overlay of a packet, where these separate connections
address.py    addresses as numbers, and back as text
index.py      all of it: a block of packets -> a `SegmentBatch`
"""
