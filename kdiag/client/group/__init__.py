"""Members of consumer groups, as Kafka's own consumers are.

- `member`: what every member has, whichever protocol it speaks: a **ConsumerMember** has
  **MemberSettings** and a **TopicSubscription**, tells a **RebalanceListener** about its partitions
  and commits **OffsetAndMetadata**.
- `classic/`: a **ConsumerCoordinator** is a ConsumerMember by the classic protocol.
- `consumer/`: a **BrokerAssignedMember** is one by the consumer protocol (KIP-848).
- what members share: the state is a **Membership** (`membership`); the coordinator is found
  (`coordinator_lookup`), and told by a **HeartbeatThread** (`heartbeat_thread`) that the member
  lives, with the timers of a **Heartbeat** (`heartbeat`); offsets are for **OffsetCommits**
  (`offset_commits`), **CommittedOffsets** (`committed_offsets`) and, before a rebalance, a
  **RebalanceCommit** (`rebalance_commit`).
- `refusals`: a coordinator's error codes as errors that name the setting to change.
- `assignor/`: how the leader of a classic group divides partitions among its members.
- `configured_member`: settings and assignors as a client's configuration names them.

A member stands on a ClusterClient; a Fetcher on the same ClusterClient reads what it is assigned.
"""
