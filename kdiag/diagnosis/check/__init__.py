"""The check of a cluster: everything that was asked and heard, judged stage by stage.

* the **facts** (`facts`) are filled in by the probe; a **visit** is one connection to one address;
* a **part** (`report`) is the result of a stage: rows, findings and what else there is to say;
* the **exposure** (`exposure`) is what the login gave away, and to which addresses;
* the **stages** are `connections` (DNS to Metadata, with `tls`), `listeners`, `acls`, `cluster`
  (partitions and controllers, with `disks`) and `coordinator`;
* the **judgement** (`judgement`) joins their parts.
"""
