"""The bodies of exchanges as JSON text; of what many exchanges share it is made once.

ApiVersions v3    60 ranges     decoded and written
ApiVersions v3    the same      found by its message
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.body import Bodies, BodyForm
from kdiag.exchange.documents.document import DocumentEncoder
from kdiag.exchange.side import MOST_SHARED, Side

T = TypeVar("T")


class OfShared(Generic[T]):
    """What was made of messages that many exchanges share, once for all of them."""

    def __init__(self) -> None:
        self._made: dict[int, tuple[Any, T]] = {}

    def of(self, side: Side, make: Callable[[], T]) -> T:
        """Return what was made of the message of a side; make it, if it is the first."""
        found = self._made.get(id(side.message))
        if found is None:
            if len(self._made) >= MOST_SHARED:
                self._made.clear()
            # The message is kept so that no other gets its id.
            found = self._made[id(side.message)] = side.message, make()
        return found[1]


class BodyTexts:
    """Makes the bodies of exchanges as JSON text."""

    def __init__(self, names: TopicNames, *, show_secrets: bool = False) -> None:
        self._bodies = Bodies(names, BodyForm(show_secrets=show_secrets))
        self._encode = DocumentEncoder().encode
        self._shared: OfShared[bytes | None] = OfShared()

    def text(self, dissection: Dissection, side: Side, *, is_response: bool) -> bytes | None:
        """Return the body of a side in UTF-8; None if there is none that could be read."""

        def make() -> bytes | None:
            body, _ = self._bodies.make(dissection, side, is_response=is_response)
            return None if body is None else self._encode(body)

        return self._shared.of(side, make) if side.is_shared else make()
