"""The header of every response: the correlation id of its request.

Versions 0-1, flexible from 1.
"""

from kdiag.wire.schema import Int32, Struct, message


@message(versions="0-1", flexible="1+")
class ResponseHeader(Struct):
    """Kafka's ResponseHeader."""

    correlation_id: Int32 = 0
