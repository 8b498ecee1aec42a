"""A metadata transaction is undone.

Record type 25 of `__cluster_metadata`, version 0, flexible from 0.
"""

from typing import Annotated

from kdiag.wire.schema import String, Struct, message, tag


@message(versions="0", flexible="0+")
class AbortTransactionRecord(Struct):
    """Kafka's AbortTransactionRecord."""

    reason: Annotated[String | None, tag(0)] = None
