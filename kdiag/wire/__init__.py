"""Kafka's wire protocol as values: bytes in, messages out, and back. No input or output here.

Five nouns carry the package:

* a **message** (`kdiag.wire.api`, `kdiag.wire.internal`) is a class that is its own schema: every
  field says its wire type and the versions that have it (`kdiag.wire.schema`);
* the **codec** (`codec.messages`) compiles one flat decoder and one flat encoder for each
  (message, version), on first use; `kdiag.wire.codec.explain` reads the same schema slowly and says
  where every byte belongs, or where and why the bytes stop making sense;
* a **frame** (`kdiag.wire.frame`) is one length-prefixed byte string: header, then body;
* an **exchange** (`kdiag.exchange.model`) is a request with its response, when each crossed the
  wire, and the connection (`kdiag.exchange.model`) that carried them;
* the **catalog** (`kdiag.wire.catalog`) lists the APIs: key, name, versions, classes.

Record batches (`kdiag.wire.records.batches`) stay bytes until somebody asks for them.
"""
