"""Fingerprints: exchanges that count alike are recognised by their bytes, without decoding.

Most exchanges of a busy connection equal an earlier one but for correlation ids, offsets, times and
the contents of records. The fingerprint of an exchange is its API, version, client id, sizes and
every byte but these:

    0 ..       correlation id
    body       numbers of fixed size, unless they are error codes or the time of a quota
    records    all of a batch of magic 2, unless it is the batch's size or its magic

These bytes change neither the place of a field, nor whether the message is readable, nor a topic,
nor an error, nor a quota. So once an exchange was decoded, all that a summary counts of those with
the same fingerprint is known.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from operator import itemgetter
from typing import Any, Final, Generic, TypeVar

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.mentions import is_error_code
from kdiag.exchange.model import Exchange, Status
from kdiag.exchange.side import Side
from kdiag.wire.codec.explain import explain
from kdiag.wire.records.batch import MAGIC_2
from kdiag.wire.records.batches import read_batches
from kdiag.wire.schema import Field, Kind, Struct, fields_of

_REPEATS: Final = 16  # of a shape, until it is worth the time to find out which bytes matter
_MAX_SHAPES: Final = 10_000
_MAX_KNOWN: Final = 2_000
_MAX_TRIALS: Final = 64  # of a shape
_MAX_FRAME_BYTES: Final = 1 << 16  # both frames together
_MAX_BYTES: Final = 4096  # that matter, of a frame; and in how many pieces
_MAX_PIECES: Final = 32

_REQUEST_START: Final = 8  # API, version, correlation id
_RESPONSE_START: Final = 4  # correlation id
_THROTTLE: Final = "throttleTimeMs"
_INDEX: Final = re.compile(r"\[\d+\]")
_NUMBERS: Final = (Kind.INT16, Kind.UINT16, Kind.INT32, Kind.UINT32, Kind.INT64, Kind.FLOAT64)
_BATCH_SIZE: Final = (8, 12)
_BATCH_MAGIC: Final = (16, 17)

_Pick = Callable[[bytes], Any]
V = TypeVar("V")


class _Shape(Generic[V]):
    """Exchanges of one API, one version, one client id and one size of each frame.

    Attributes:
        misses: the exchanges without a known fingerprint.
        trials_left: how many more times to find out which bytes matter.
        pieces: the places of the bytes that matter; None until they were found out.
        pick_request, pick_response: return these bytes of a frame.
        known: the kept values, by these bytes.
    """

    __slots__ = ("known", "misses", "pick_request", "pick_response", "pieces", "trials_left")

    def __init__(self) -> None:
        self.misses = 0
        self.trials_left = _MAX_TRIALS
        self.pieces: tuple[tuple[slice, ...], tuple[slice, ...]] | None = None
        self.pick_request: _Pick = bytes
        self.pick_response: _Pick = bytes
        self.known: dict[tuple[Any, Any], V] = {}


class FingerprintCache(Generic[V]):
    """Keeps a value for each fingerprint."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[int | None, int | None, str | None, int, int], _Shape[V]] = {}
        self._known_count = 0

    def find(self, exchange: Exchange) -> V | None:
        """Return the value that was kept for this exchange's fingerprint; None if there is none."""
        request, response = exchange.request, exchange.response
        if request is None or response is None or exchange.pairing is not Status.OK:
            return None
        if exchange.session_topics is not None or exchange.is_violation:
            return None
        asked, answered = request.data, response.data
        key = exchange.api_key, exchange.version, exchange.client_id, len(asked), len(answered)
        shape = self._shapes.get(key)
        if shape is None or not shape.known:
            return None
        if len(asked) != request.size or len(answered) != response.size:
            return None
        return shape.known.get((shape.pick_request(asked), shape.pick_response(answered)))

    def keep(self, dissection: Dissection, value: V) -> None:
        """Keep a value for this exchange's fingerprint, if its shape comes often."""
        exchange, request, response = dissection.exchange, dissection.request, dissection.response
        if dissection.status is not Status.OK or request is None or response is None:
            return
        sizes = request.frame.size, response.frame.size
        if sum(sizes) > _MAX_FRAME_BYTES or exchange.session_topics is not None:
            return
        if len(self._shapes) >= _MAX_SHAPES or self._known_count >= _MAX_KNOWN:
            self._shapes.clear()
            self._known_count = 0
        key = exchange.api_key, exchange.version, exchange.client_id, *sizes
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._shapes[key] = _Shape()
        shape.misses += 1
        if shape.misses > _REPEATS and shape.trials_left:
            shape.trials_left -= 1
            self._known_count += _learn(shape, request, response, value)


def _learn(shape: _Shape[V], request: Side, response: Side, value: V) -> bool:
    """Keep a value for the fingerprint of an exchange; return whether that was possible."""
    pieces = _pieces(request, _REQUEST_START), _pieces(response, _RESPONSE_START)
    if shape.pieces is None:
        if any(_is_much(each) for each in pieces):
            shape.trials_left = 0
            return False
        shape.pieces = pieces
        shape.pick_request, shape.pick_response = (itemgetter(*each) for each in pieces)
    if pieces != shape.pieces:
        return False
    picked = shape.pick_request(request.frame.data), shape.pick_response(response.frame.data)
    shape.known[picked] = value
    return True


def _is_much(pieces: tuple[slice, ...]) -> bool:
    """Return whether comparing these bytes costs as much as decoding."""
    size = sum(piece.stop - piece.start for piece in pieces)
    return len(pieces) > _MAX_PIECES or size > _MAX_BYTES


def _pieces(side: Side, start: int) -> tuple[slice, ...]:
    """Return the places of the bytes that matter, from `start` on."""
    pieces = []
    for free_start, free_stop in _free(side):
        if start < free_start:
            pieces.append(slice(start, free_start))
        start = free_stop
    return (*pieces, slice(start, side.frame.size))


def _free(side: Side) -> Iterator[tuple[int, int]]:
    """Yield the places of bytes that do not matter, in order."""
    cls: type[Struct] = type(side.message)
    numbers = _number_paths(cls, side.version)
    for span in explain(cls, side.version, side.frame.data, side.body_offset).spans:
        if _INDEX.sub("", span.path) in numbers:
            yield span.offset, span.offset + span.length
        elif span.path.endswith(".records") and isinstance(span.value, bytes):
            for batch in read_batches(span.value).batches:
                if batch.magic == MAGIC_2:
                    start = span.offset + batch.start
                    yield start, start + _BATCH_SIZE[0]
                    yield start + _BATCH_SIZE[1], start + _BATCH_MAGIC[0]
                    yield start + _BATCH_MAGIC[1], start + batch.size_in_bytes


@cache
def _number_paths(cls: type[Struct], version: int) -> frozenset[str]:
    """Return the paths, without indexes, of single numbers that do not matter."""
    paths = set()
    for field in fields_of(cls):
        if field.is_in(version):
            if field.kind in _NUMBERS and not field.is_array and not _matters(field):
                paths.add(field.json_name)
            if not isinstance(field.kind, Kind):
                inner = _number_paths(field.kind, version)
                paths.update(f"{field.json_name}.{each}" for each in inner)
    return frozenset(paths)


def _matters(field: Field) -> bool:
    """Return whether a number counts: an error, or how long a quota holds the client back."""
    return is_error_code(field) or field.json_name == _THROTTLE
