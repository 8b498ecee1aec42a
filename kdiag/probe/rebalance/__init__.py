"""Rebalances provoked on purpose, in a group and a topic of kdiag's own.

- `plan`: what is provoked, by how many members of which kind: a **RebalancePlan** for each
  **ProbeVariant** of the protocol.
- `ownership`: pure: an **OwnershipLog** of who owned which partition when, and each **OwnerGap**.
- `probe_member`: a **ProbeMember** is a member with a thread and connections of its own.
- `drill`: a **RebalanceDrill** forms a group, provokes one cause after another, and waits each time
  until the group has settled.
- `steps`: pure: what the exchanges of the members and the log of ownership tell of each step.
- `leaving`: the end of a group: its members leave it, also those that crashed, and it is deleted.
"""
