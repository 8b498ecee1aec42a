"""What exchanges told of groups as rows, divided by groups.

A rebalance takes all exchanges of its group in the order of time, whichever connections they
crossed. Each exchange is read once, with those of its chunk. What it told of groups travels on:

    exchanges of a chunk  ->  groups-0, groups-1, ...    what was told of some groups
                              groups-all                 what concerns all, such as partitions
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, get_args
from zlib import crc32

import msgspec
import pyarrow as pa

from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents
from kdiag.diagnosis.rebalance.capture.exchange_events import (
    Fact,
    GroupSighting,
    OfAll,
    tells,
)
from kdiag.errors import ReportError
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.fence import suppress_faults
from kdiag.report.arrow import Emit

OF_GROUPS: Final = "groups-"
"""How the names of all of these rows begin."""

OF_ALL: Final = f"{OF_GROUPS}all"
"""The rows that concern all groups."""

SIGHTINGS: Final = pa.schema([("kind", pa.string()), ("sighting", pa.binary())])
"""The columns: the name of the fact's class, behind `_RECODED` where a text is no UTF-8."""

_RECODED: Final = "recoded "
"""Clients may send any bytes for text. Each of these stands for the character of its number."""

_DECODERS: Final[dict[str, msgspec.msgpack.Decoder[Any]]] = {
    fact.__name__: msgspec.msgpack.Decoder(tuple[int, int, int, int, fact])  # type: ignore[valid-type]
    for fact in get_args(Fact)
}
_ENCODE: Final = msgspec.msgpack.Encoder().encode


class GroupDivider:
    """Divides what exchanges tell by groups. Of quiet heartbeats it keeps the first and last."""

    def __init__(self, parts: int) -> None:
        """Begin with nothing, for so many parts."""
        self._parts = parts
        self._events = CaptureEvents(_no_name)

    def add(self, dissection: Dissection) -> None:
        """Add what an exchange tells; nothing if it cannot be read."""
        if tells(dissection.exchange):
            with suppress_faults():
                self._events.add_told(dissection)

    def emit(self, emit: Emit) -> None:
        """Call with the name of a part, or `OF_ALL`, and rows of `SIGHTINGS`."""
        found: dict[str, list[GroupSighting]] = {}
        for each in self._events.sightings:
            found.setdefault(self._name_of(each.fact), []).append(each)
        for name, sightings in sorted(found.items()):
            emit(name, sighting_rows(sightings))

    def _name_of(self, fact: Fact) -> str:
        if isinstance(fact, OfAll):
            return OF_ALL
        return f"{OF_GROUPS}{crc32(fact.group.encode(errors='surrogateescape')) % self._parts}"


def _no_name(_: str) -> None:
    """Return no name of a topic: those are known when all was seen."""


def sighting_rows(sightings: Iterable[GroupSighting]) -> pa.RecordBatch:
    """Return sightings as rows of `SIGHTINGS`."""
    pairs = list(map(_row, sightings))
    kinds, texts = zip(*pairs, strict=True) if pairs else ((), ())
    columns = [pa.array(kinds, pa.string()), pa.array(texts, pa.binary())]
    return pa.RecordBatch.from_arrays(columns, schema=SIGHTINGS)


def _row(sighting: GroupSighting) -> tuple[str, bytes]:
    kind = type(sighting.fact).__name__
    try:
        return kind, _ENCODE(sighting)
    except UnicodeEncodeError:  # a client has sent what is no UTF-8
        return f"{_RECODED}{kind}", _ENCODE(_with_texts(sighting, _recoded))


def _recoded(text: str) -> str:
    return text.encode(errors="surrogatepass").decode("latin-1")


def _original(text: str) -> str:
    return text.encode("latin-1").decode(errors="surrogatepass")


def _with_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a value with all of its texts changed: those in tuples and sets, too."""
    if type(value) is str:  # not those of an enum
        return change(value)
    if isinstance(value, tuple | frozenset):
        items = (_with_texts(each, change) for each in value)
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def read_sightings(rows: Iterable[pa.RecordBatch]) -> Iterator[GroupSighting]:
    """Yield the sightings in rows of `SIGHTINGS`.

    Raises:
        ReportError: if they are damaged.
    """
    for batch in rows:
        kinds, texts = (column.to_pylist() for column in batch.columns)
        for kind, text in zip(kinds, texts, strict=True):
            try:
                sighting = _read(kind or "", text)
            except (TypeError, ValueError, msgspec.DecodeError) as error:
                raise ReportError(OF_ALL, f"is damaged: {error}") from error
            yield sighting


def _read(kind: str, text: bytes) -> GroupSighting:
    name = kind.removeprefix(_RECODED)
    if name not in _DECODERS:
        raise ValueError(f"{kind!r} is no kind of sighting")
    sighting = GroupSighting(*_DECODERS[name].decode(text))
    if name == kind:
        return sighting
    original: GroupSighting = _with_texts(sighting, _original)
    return original
