"""Exchanges back into packets and capture files."""
