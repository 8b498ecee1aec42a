"""Checks a cluster from the outside in."""
