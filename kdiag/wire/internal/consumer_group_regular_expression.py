"""The topics that a consumer group's pattern matched.

Record type 16 of `__consumer_offsets`, version 0, flexible from 0.
"""

from kdiag.wire.schema import Int64, String, Struct, message


@message(versions="0")
class ConsumerGroupRegularExpressionKey(Struct):
    """The key of a record of type 16."""

    group_id: String = ""
    regular_expression: String = ""


@message(versions="0", flexible="0+")
class ConsumerGroupRegularExpressionValue(Struct):
    """The value of a record of type 16."""

    topics: list[String] = []
    version: Int64 = 0
    timestamp: Int64 = 0
