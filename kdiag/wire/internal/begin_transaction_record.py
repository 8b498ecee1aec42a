"""A metadata transaction begins: what follows waits for its end.

Record type 23 of `__cluster_metadata`, version 0, flexible from 0.
"""

from typing import Annotated

from kdiag.wire.schema import String, Struct, message, tag


@message(versions="0", flexible="0+")
class BeginTransactionRecord(Struct):
    """Kafka's BeginTransactionRecord."""

    name: Annotated[String | None, tag(0)] = None
