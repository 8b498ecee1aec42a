"""What members of groups ask a broker, and who asks about them.

find_coordinator    FindCoordinator: which broker coordinates a group or a transactional id
join_group          JoinGroup: take part in a rebalance of a classic group
sync_group          SyncGroup: bring or get its assignment
heartbeat           Heartbeat: a member is there
leave_group         LeaveGroup: members go
offset_commit       OffsetCommit: how far a group has read
offset_fetch        OffsetFetch: likewise, told
offset_delete       OffsetDelete: forgotten
describe_groups     DescribeGroups: classic groups and their members
list_groups         ListGroups: the groups that this node coordinates
delete_groups       DeleteGroups: groups without members are forgotten
consumer_group_heartbeat  ConsumerGroupHeartbeat: members of consumer groups (KIP-848)
consumer_group_describe   ConsumerGroupDescribe: consumer groups and their members
topic_names         the topics of requests about offsets, by name or by id
"""
