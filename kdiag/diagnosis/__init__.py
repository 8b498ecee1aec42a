"""Diagnoses: pure functions from facts to typed results and findings.

They read neither sockets nor files nor the clock, so that the same code judges a live cluster, a
capture and a lab. Probes and the capture decoder fill in the facts.

* `check`: the state of a cluster, stage by stage; `coordinator` and `coordinator_changes`: who
  coordinates a group, and how that changes; `broker_versions`: brokers side by side;
* `connection_finding`: from a failed connection to its finding; `error_codes`: Kafka's errors with
  causes and remedies;
* `rebalance`: what made groups rebalance, from captures, brokers' logs and coordinators' records;
* `tcp`: the limit of a recorded connection; `buffers`: socket buffers on a live path; `latency`:
  where time goes.
"""
