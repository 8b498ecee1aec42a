"""Assignors of classic groups: the same partitions for the same members as by Kafka's own.

- `assignor`: an **Assignor** divides partitions among **MemberSubscription**s.
- `range`, `round_robin`: divide anew each time.
- `sticky`, `cooperative_sticky`: change as little as can be; both stand on `sticky_division`.
- `constrained`, `general`: its two algorithms, for members with the same and different topics, with
  `owned_partitions`, `rack_info` and `partition_movements`.
- `consumer_protocol`: subscriptions and assignments as bytes.
- `hash_order`: the order of Java's hash maps, which results depend on.

Results equal Java's list by list, so a group may have a leader of either kind: what a member is
assigned does not depend on it. 2,000 members with 10,000 partitions take seconds at the most.
"""
