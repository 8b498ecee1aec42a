"""Packets in columns: link layers, IP, tunnels, TCP segments."""
