"""Coordinators: what a node keeps for groups and transactions, in Kafka's own topics.

    group/         groups, with their offsets
    transaction/   transactional ids: epochs, ends, timeouts, markers
    runtime/       a coordinator's partitions: led, loaded, written, given up

Source: Kafka's `coordinator-common`, `group-coordinator`, `transaction-coordinator`.
"""
