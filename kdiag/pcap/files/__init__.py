"""Capture files as blocks of packets."""
