"""What every foreign client is asked to do with a cluster, and what it must find.

    records         create a topic, produce with each codec and acks mode
    groups          read in a group, alone, with a second member, alone again; go on after a restart
    transactions    commit one, with offsets of a group where the client can, abort one, commit
                    one more, and read what is committed
    steady          write and read in a group for `STEADY_S`, with nothing set but the addresses

The clients are programs: Go, JavaScript, Java, Python and C. Each is given `BOOTSTRAP NAME
STAGE...` and prints one JSON object at its end; a topic and a group are called NAME.
"""

import os
from typing import Any, Final

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
CODECS_OF: Final = {
    "kafka-python": ("none", "gzip", "lz4", "zstd"),
    "kafkajs": ("none", "gzip", "snappy"),
}
"""Those of clients that lack some: for snappy, or LZ4 and zstd, they need libraries in C."""
ACKS: Final = ("all", "1", "0")
"""What is not acknowledged comes last: by then the broker surely has the new topic."""
DEADLINE_S: Final = 60
STEADY_S: Final = float(os.environ.get("STEADY_S", "60"))
"""The programs that are not in Python read the same variable."""
PACE_S: Final = 0.02
RECORD: Final = b"a record of some bytes, as programs write them one after the other"
LATER: Final = "later"
TRANSACTIONS: Final = {"committed": True, "aborted": False, "last": True}
"""The values of partition 1 that are in transactions, and which are committed."""
OFFSET_IN_A_TRANSACTION: Final = 7
WITHOUT_OFFSETS: Final = {"franz-go"}
"""Clients that commit offsets in a transaction only for a group they are a member of."""


def text_of(codec: str, acks: str) -> str:
    """Return the value of a record that is produced so; long enough for each codec to matter."""
    return f"{codec} {acks} " * 40


def expected(stages: tuple[str, ...], codecs: tuple[str, ...] = CODECS) -> dict[str, Any]:
    """Return what a client prints that has found everything as it should be."""
    found: dict[str, Any] = {}
    if "records" in stages:
        found |= {"created": 0, "produced": len(codecs) * len(ACKS)}
    if "groups" in stages:
        found |= {"shared": [2, 1, 1, 2], "resumed": [LATER]}
    if "transactions" in stages:
        found |= {"transactions": committed_values()}
    return found


def committed_values() -> list[str]:
    """Return the values of transactions that are committed, in their order."""
    return [value for value, is_committed in TRANSACTIONS.items() if is_committed]


def values_of(codecs: tuple[str, ...] = CODECS) -> list[str]:
    """Return the values that a topic has after `records`, in alphabetical order."""
    return sorted(text_of(codec, acks) for codec in codecs for acks in ACKS)
