"""A SCRAM credential was set.

Record type 11 of `__cluster_metadata`, version 0, flexible from 0.
"""

from kdiag.wire.schema import Bytes, Int8, Int32, String, Struct, message


@message(versions="0", flexible="0+")
class UserScramCredentialRecord(Struct):
    """Kafka's UserScramCredentialRecord."""

    name: String = ""
    mechanism: Int8 = 0
    salt: Bytes = b""
    stored_key: Bytes = b""
    server_key: Bytes = b""
    iterations: Int32 = 0
