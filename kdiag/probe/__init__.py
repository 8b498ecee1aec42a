"""Probes: they make exchanges happen on a live cluster and hand what was answered to a diagnosis.

Each probe is a function over a `ClusterClient`; none of them prints, and each leaves the cluster
as it was unless its documentation says otherwise.
"""
