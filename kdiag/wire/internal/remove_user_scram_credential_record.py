"""A SCRAM credential was removed.

Record type 22 of `__cluster_metadata`, version 0, flexible from 0.
"""

from kdiag.wire.schema import Int8, String, Struct, message


@message(versions="0", flexible="0+")
class RemoveUserScramCredentialRecord(Struct):
    """Kafka's RemoveUserScramCredentialRecord."""

    name: String = ""
    mechanism: Int8 = 0
