"""A delegation token was removed.

Record type 26 of `__cluster_metadata`, version 0, flexible from 0.
"""

from kdiag.wire.schema import String, Struct, message


@message(versions="0", flexible="0+")
class RemoveDelegationTokenRecord(Struct):
    """Kafka's RemoveDelegationTokenRecord."""

    token_id: String = ""
