"""A delegation token was issued or changed.

Record type 10 of `__cluster_metadata`, version 0, flexible from 0.
"""

from kdiag.wire.schema import Int64, String, Struct, message


@message(versions="0", flexible="0+")
class DelegationTokenRecord(Struct):
    """Kafka's DelegationTokenRecord."""

    owner: String = ""
    requester: String = ""
    renewers: list[String] = []
    issue_timestamp: Int64 = 0
    max_timestamp: Int64 = 0
    expiration_timestamp: Int64 = 0
    token_id: String = ""
