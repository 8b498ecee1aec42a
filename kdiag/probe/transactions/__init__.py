"""Finds open transactions on a cluster, and ends those that hang."""
