"""Pure functions from what was seen to typed results and findings.

They neither read sockets nor files nor the time, so that a live cluster, a capture and a lab are
judged by the same code.
"""
