"""The version of KRaft that the quorum has agreed on.

Version 0, flexible from 0.
"""

from kdiag.wire.schema import Int16, Struct, message


@message(versions="0", flexible="0+")
class KRaftVersionRecord(Struct):
    """Kafka's KRaftVersionRecord."""

    version: Int16 = 0
    k_raft_version: Int16 = 0
