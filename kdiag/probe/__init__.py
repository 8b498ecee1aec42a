"""Probes: they make exchanges happen on a live cluster and hand the answers to a diagnosis.

    check/           connections, listeners and state, from the outside in
    coordinator/     who coordinates groups, transactions and share groups
    tail/            records from where the user says, to where the user says
    latency/         latencies of writes, reads and commits on a schedule
    buffers/         paths to brokers, and socket buffer sizes proved on them
    rebalance/       rebalances provoked in a group of kdiag's own
    group_records    what coordinators wrote about groups
    destination      the nodes that a request of the user goes to
    reach            whether brokers can be used at the addresses that they advertise
    topic            a topic of kdiag's own, created and removed
    topic_requests   Produce, Fetch and OffsetCommit about one topic

A probe is a function over a `ClusterClient`. None of them prints, and each leaves the cluster as it
was unless its docstring says otherwise. The facts that they fill in are types of `kdiag.diagnosis`.
"""

PROBE_PREFIX = "_kdiag_probe_"
"""The prefix of the names of topics and groups that probes create, and remove at their end."""
