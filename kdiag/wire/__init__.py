"""Kafka's wire protocol as values: bytes to messages and back. No input or output here.

* a **message** (`api`, `internal`) is a class that is its own schema: every field has its wire type
  and versions (`schema`);
* the **codec** (`codec`) compiles a decoder and an encoder for each message and version, and has a
  slow reader that explains every byte;
* the **catalog** (`catalog`) lists the APIs: key, name, versions, classes; `api_keys` names their
  keys, `record_catalog` lists the messages of internal topics and logs, `client_release` what the
  clients of each Kafka release know (`client_table`);
* a **frame** (`frame`) is one length-prefixed byte string: a **header** (`header`), then a body;
* **record batches** (`records`) stay bytes until their records are read;
* **primitives** (`primitives`), **error codes** (`error_code`), the requests without **side
  effects** (`side_effects`), and the **partition of a coordinator** (`coordinator_partition`).

`api`, `internal`, `api_keys` and `client_table` are generated from Kafka's jars
(`cmd/kdiag_schema`).
"""
