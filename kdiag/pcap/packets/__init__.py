"""Packets in columns: link layers, encapsulations and IP taken off, TCP segments left.

descent.py      packets on their way down, sorted by what they are: link type, ethertype, protocol
link.py, ppp.py, wifi.py, label.py   steps from a link layer, a session or a label to the next
ip.py           IPv4, IPv6 and its extension headers -> payloads
tunnel.py       payloads that hold packets themselves: VXLAN, Geneve, GRE, GTP-U, IP in IP and more
dissector.py, scapy_layers.py   what no step knows, packet by packet, by scapy
fragments.py    IP fragments -> whole datagrams
layer.py        the columns in between: packets at one layer's header
network.py      the VLAN or overlay of a packet, where these separate connections
address.py      addresses as numbers, and back as text
index.py        all of it: a block of packets -> a `SegmentBatch`
"""
