"""The form of an entry: an error, its meaning, its causes and the remedy."""

from typing import NamedTuple

import msgspec


class ErrorAdvice(NamedTuple):
    """The advice on one error.

    Attributes:
        causes: the usual causes, the most frequent first, a sentence each.
        fix: the remedy, in one or a few sentences.
        apis: the APIs whose responses have it most; empty if it may come from any.
    """

    causes: tuple[str, ...]
    fix: str
    apis: tuple[str, ...] = ()


class KnownError(msgspec.Struct, frozen=True):
    """Everything that is known about an error.

    Attributes:
        code: the number on the wire; of librdkafka's own, below -100, the one its users see.
        name: such as `NOT_COORDINATOR`, or `_TRANSPORT` for one of librdkafka's own.
        source: `kafka`, or `librdkafka` for an error of that library's own.
        java_exception: the exception of Kafka's Java clients; None if there is none.
        is_retriable: whether the same request may be sent again; None if the question does not
            apply.
        meaning: one sentence.
        causes, fix, apis: as in `ErrorAdvice`.
    """

    code: int
    name: str
    source: str
    java_exception: str | None
    is_retriable: bool | None
    meaning: str
    causes: tuple[str, ...]
    fix: str
    apis: tuple[str, ...]
