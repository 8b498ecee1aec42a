"""Asks brokers who coordinates groups, transactions and share groups, for `kdiag find-coordinator`.

find_coordinators    every broker's answer for some keys, and their state   `search`
share_keys           the keys of a share group's partitions                 `share_keys`
group_spread         how many groups each broker coordinates                `spread`
"""
