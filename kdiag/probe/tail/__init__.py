"""Follows topics on a live cluster."""
