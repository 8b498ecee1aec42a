"""Kafka's server side in one process: a cluster that other people's clients really use.

From the bottom to the top; each imports only what stands before it in this list:

    timer/        timing wheels: what is due later, of which most is cancelled
    log/          partitions on disk, in Kafka's own formats
    purgatory/    operations that wait for an event or their timeout, completed exactly once
    controller/   what all nodes agree on: brokers, topics, leaders, settings
    security/     who a client is: what a listener asks before it hears him
    replication/  the partitions of a node, and the requests that wait for them
    coordinator/  groups and transactions, kept in topics
    api/          one handler for each API, named as in `wire/api`
    broker/       brokers that listen, and the cluster that they form

A node is one thread: a selector loop calls everything, and whatever would wait goes to a
purgatory. Names and behaviour are those of Kafka's own broker.
"""
