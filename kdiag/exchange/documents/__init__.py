"""Exchanges as documents for programs: JSON, and the view of every byte.

* a **document** (`document`) is an exchange, a gap or a connection in JSON of one schema number;
* a **body** (`body`) is the decoded request or response in it: Kafka's own JSON with additions;
  a **large body** (`large_body`) is made piece by piece;
* **records** (`records`) are the record batches in bodies, **tcp** the facts of TCP in documents;
* the **byte view** (`byte_view`) names the field of every byte of a frame.
"""
