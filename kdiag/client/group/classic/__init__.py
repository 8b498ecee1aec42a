"""Members by the classic protocol: JoinGroup, SyncGroup, Heartbeat, LeaveGroup.

- `abstract_coordinator`: an **AbstractCoordinator** is a member of any kind of group; it joins
  (`group_join`) and has a HeartbeatThread.
- `consumer_coordinator`: a **ConsumerCoordinator** is a ConsumerMember by that protocol, with a
  **SubscriptionState** (`subscription_state`) and the assignors of `kdiag.client.group.assignor`.
"""
