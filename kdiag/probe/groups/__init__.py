"""Asks a cluster about its groups: who is there, how far they have read, what is left to read."""
