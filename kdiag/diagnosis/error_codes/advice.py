"""The form of an entry: why an error comes about, and what to do."""

from typing import NamedTuple


class ErrorAdvice(NamedTuple):
    """What to know about one error.

    Attributes:
        causes: what usually lies behind it, the most frequent first, a sentence each.
        fix: what to do, in one or a few sentences.
        apis: the APIs whose responses tell it most; empty where that tells nothing.
    """

    causes: tuple[str, ...]
    fix: str
    apis: tuple[str, ...] = ()
