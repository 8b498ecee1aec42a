"""The key of a control record: which kind of marker it is.

Version 0, never flexible.
"""

from kdiag.wire.schema import Int16, Struct, message


@message(versions="0")
class ControlRecordTypeSchema(Struct):
    """Kafka's ControlRecordTypeSchema."""

    type: Int16 = 0
