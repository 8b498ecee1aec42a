"""What all nodes of a lab agree on: brokers, topics, partitions with their leaders, settings.

    cluster_image       ClusterImage: the state at one moment, as values
    quorum_controller   QuorumController: changes it, writes it down, tells the nodes
    leader_election     who leads a partition when brokers come and go
    reassignment        partitions that move to other brokers
    broker_sessions     who says that it runs, and who has not for too long
    topic_names         which names topics may have
    replica_placer      which brokers get the replicas of a new partition
    topic_configs       the settings of topics: names, defaults, what they take
    state_file          the file that keeps the state

In Kafka a quorum of controllers replicates a log of such changes (KRaft). Here the nodes are in one
process, and one object that all of them hold stands for the quorum: its changes are atomic, and a
node hears of each in order. Any thread may call it.

Source: Kafka's `QuorumController`, `MetadataImage`.
"""
