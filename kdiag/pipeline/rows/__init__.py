"""Packets, frames and what was told of groups as rows on their way between the tasks of a run.

PACKETS        TCP segments as rows, and back                       `packets`
bundle         many packets in one row, for the shuffle             `bundles`
Partitioner    which part of the run a connection belongs to        `partitioner`
FRAMES         exchanges as rows, with the bytes of their frames    `frames`
SIGHTINGS      what exchanges told of groups, by group              `sightings`
rows of groups what was told of groups becomes rows of tables       `group_rows`
spans          where the bytes of a large frame lie in captures     `frame_spans`
"""
