"""Every message of Kafka's internal topics and logs: its record type and class.

A message's module is imported on the first call of `message_class`. The facts are in
`kdiag.wire.internal.table`, made from Kafka's jars by `kdiag_schema`; the control records alone are
kept here, as no schema has them.

A record of a coordinator's topic has a key that starts with an int16, the record type, and a value
that starts with an int16, the version of the value; the key itself is always version 0. (Before 4.0
Kafka called the record type the key's version; the bytes are the same.) A metadata record is a
value that starts with three unsigned varints: frame version 1, record type, version. The key of
a control record is an int16 version and the type (ControlRecordTypeSchema); before the value of
EndTxnMarker stands its version, an int16, while those of KRaft begin with theirs as first field.

Source: Kafka's CoordinatorRecordType, MetadataRecordType and ControlRecordType.
"""

from functools import cache
from importlib import import_module
from typing import Final, cast

from kdiag.wire.internal import table
from kdiag.wire.schema import Struct

COORDINATOR_RECORDS: Final = table.COORDINATOR_RECORDS
"""For each coordinator's topic, the name of the record by record type.

Its messages are that name with `Key` and with `Value`: type 1 of `__consumer_offsets` is
`OffsetCommit`, so its messages are `OffsetCommitKey` and `OffsetCommitValue`.
"""

METADATA_RECORDS: Final = table.METADATA_RECORDS
"""For each topic of metadata records, the name of the record by record type."""

CONTROL_RECORDS: Final = {
    0: "EndTxnMarker",
    1: "EndTxnMarker",
    2: "LeaderChangeMessage",
    3: "SnapshotHeaderRecord",
    4: "SnapshotFooterRecord",
    5: "KRaftVersionRecord",
    6: "VotersRecord",
}
"""The name of a control record's value by its type: 0 is abort, 1 commit."""

MODULE_BY_NAME: Final = table.MODULE_BY_NAME
"""The module in `kdiag.wire.internal` of each message."""


@cache
def message_class(name: str) -> type[Struct]:
    """Return the class of an internal message, importing its module on first use.

    Args:
        name: the name of Kafka's schema, such as `OffsetCommitKey`.

    Raises:
        KeyError: if there is no such message.
    """
    module = import_module(f"kdiag.wire.internal.{MODULE_BY_NAME[name]}")
    return cast("type[Struct]", getattr(module, name))
