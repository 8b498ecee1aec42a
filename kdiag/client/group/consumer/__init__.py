"""Members by the consumer protocol (KIP-848): the broker assigns the partitions.

- `broker_assigned_member`: a **BrokerAssignedMember** is a ConsumerMember by that protocol.
- `membership_manager`: a **ConsumerMembershipManager** has its state (**ConsumerMemberState**,
  `member_state`), its epoch, and what it is assigned and owns (**LocalAssignment**,
  `local_assignment`).
- `heartbeat_request_manager`: a **ConsumerHeartbeatRequestManager** sends its heartbeats, each of
  which says what has changed (**SentFields**, `sent_fields`), and uses the answers.
- `subscribed_topics`: **SubscribedTopics** are what it wants, and the names of the topics' ids.
- `epoch_commits`: **EpochCommits** are commits that name the member's epoch.
"""
