"""Measures paths and proves buffer sizes for `kdiag tune-buffers`.

path          round trips, socket facts and settings of all brokers   `path`
Target        the partitions to load on one broker                    `load`, `target`
load          Produce requests or Fetches that are all alike          `load`
run           one size, one direction, one connection, measured       `throughput`
Proof         the runs of all sizes, in turn                          `proof`
"""
