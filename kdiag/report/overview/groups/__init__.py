"""What tables tell of groups: their rebalances, their members, and what these were refused.

histories    rows of the tables `rebalances`, `members` and `exchanges` as `GroupHistory`

The questions are in the folder `sql`.
"""
