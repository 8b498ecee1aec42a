"""An access control entry was removed.

Record type 19 of `__cluster_metadata`, version 0, flexible from 0.
"""

from kdiag.wire.schema import ZERO_UUID, Struct, Uuid, message


@message(versions="0", flexible="0+")
class RemoveAccessControlEntryRecord(Struct):
    """Kafka's RemoveAccessControlEntryRecord."""

    id: Uuid = ZERO_UUID
