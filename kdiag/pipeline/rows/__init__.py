"""Packets and frames as rows between the levels of a run."""
