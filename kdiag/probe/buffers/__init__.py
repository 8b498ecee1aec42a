"""Measures throughput against socket buffers on live brokers."""
