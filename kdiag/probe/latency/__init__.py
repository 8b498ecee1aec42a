"""Measures latencies of produce, fetch and commit on a schedule."""
