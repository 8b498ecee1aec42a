"""The summary of a capture: its exchanges and connections, counted.

* the **counts** (`counts`) of a capture by API, status, error, client and topic;
* the **largest** connections (`largest`), where there are too many to keep the facts of all;
* a **fingerprint** (`fingerprint`) is the part of an exchange's bytes that the counts depend on:
  exchanges with an equal one are counted without decoding.
"""
