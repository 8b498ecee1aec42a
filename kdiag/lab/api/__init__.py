"""What a broker answers: one handler for each API, in the file of the API's name.

    call           ApiCall: a request with its connection; NodeServices: what handlers may use
    registry       which APIs and versions there are: what ApiVersions tells, and nothing else
    cluster/       ApiVersions, Metadata, DescribeCluster
    topics/        CreateTopics, DeleteTopics, CreatePartitions, DescribeTopicPartitions
    configs/       DescribeConfigs, AlterConfigs, IncrementalAlterConfigs
    groups/        FindCoordinator, JoinGroup and its kin, offsets, groups for administrators
    records/       Produce, Fetch, ListOffsets, OffsetForLeaderEpoch, DeleteRecords
    transactions/  InitProducerId, EndTxn and its kin, transactions for administrators

A handler takes a request and returns its response, or None if it responds later. Each opens with
its behaviour, what versions changed, by KIP, and what it leaves out.
"""
