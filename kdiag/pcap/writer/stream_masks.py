"""What must not leave a capture: the bytes of each direction that are, or may be, secret.

A direction is a stream of bytes. Frames are noted with their places in it; what no frame covers is
not known, and so may be secret:

    stream     |preamble|frame|frame.....token...|???????|frame|  never read ...
    masked     |        |     |          *****   |*******|     |*************

Places are offsets in the stream modulo 2**32, as TCP's own numbers are: in a direction of more than
4 GiB the bytes at the same number of another round are masked as well.
"""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import numpy as np

from kdiag.exchange.model import Exchange, Status
from kdiag.exchange.secrets.masking import frame_masks, may_hold_secrets
from kdiag.pcap.kafka.detection import is_bare_token
from kdiag.pcap.tcp.extent import SEQUENCE_NUMBERS, Extent
from kdiag.pcap.tls.problem import BROKER_SPEAKS_TLS
from kdiag.pcap.writer.unnamed_responses import UnnamedResponses
from kdiag.wire.frame import LENGTH_BYTES, Frame

_FEW: Final = 4096
_NEAR_BYTES: Final = 16
_BARE_TOKEN_HEAD_BYTES: Final = 17
"""What shows a Kerberos token to be one: its tag, its length and the mechanism, nothing secret."""

Span = tuple[int, int]
"""A start and a stop."""


class Mask(NamedTuple):
    """Bytes of a direction that are overwritten.

    Attributes:
        start, stop: where they are in the stream, modulo 2**32.
        bytes: what is written there; None for `x` everywhere.
        is_secret: whether they are a secret field; else nobody knows what they are.
    """

    start: int
    stop: int
    bytes: bytes | None
    is_secret: bool


class _Direction:
    """What is known of the bytes of one direction."""

    __slots__ = ("_covered", "_most", "masks")

    def __init__(self) -> None:
        self._covered: list[Span] = []
        self._most = _FEW
        self.masks: list[Mask] = []

    def cover(self, start: int, stop: int) -> None:
        """Note bytes that were read, mostly those behind the last ones."""
        covered = self._covered
        if covered and covered[-1][1] == start:
            covered[-1] = covered[-1][0], stop
            return
        covered.append((start, stop))
        if len(covered) > self._most:
            self._covered = list(_union(covered))
            self._most = max(_FEW, 2 * len(self._covered))

    def covered(self, preamble_bytes: int) -> list[Span]:
        """Return the spans of the bytes that were read, and of a preamble, in order and apart."""
        return list(_union([(0, preamble_bytes), *self._covered]))


class StreamMasks:
    """Notes the frames of exchanges, and says what is to be overwritten."""

    def __init__(self) -> None:
        """Begin without any."""
        self._directions: dict[tuple[int, bool], _Direction] = {}
        self._unnamed = UnnamedResponses()

    def note(self, exchange: Exchange) -> None:
        """Note where the bytes of an exchange are, and which of them are secret."""
        for frame, is_response in ((exchange.request, False), (exchange.response, True)):
            if frame is not None and frame.stream_offset >= 0:
                self._note_frame(exchange, frame, is_response=is_response)

    def of(self, extent: Extent, side: int) -> list[Mask]:
        """Return the masks of a direction, in order and apart from each other."""
        if extent.is_encrypted:
            return []
        is_response = side != extent.client
        if is_response and extent.connection.tls_problem == BROKER_SPEAKS_TLS:
            return []
        known = self._directions.get((extent.connection.number, is_response)) or _Direction()
        masks = list(known.masks)
        if not is_response:
            masks += [Mask(*span, None, is_secret=True) for span in extent.preamble_secrets]
        covered = known.covered(extent.preamble_bytes[side])
        return _in_order([*_modulo(masks), *_uncovered(covered)])

    def _note_frame(self, exchange: Exchange, frame: Frame, *, is_response: bool) -> None:
        key = exchange.connection.number, is_response
        direction = self._directions.get(key)
        if direction is None:
            direction = self._directions[key] = _Direction()
        start = frame.stream_offset + LENGTH_BYTES
        direction.cover(frame.stream_offset, start + frame.size)
        try:
            masks = self._unnamed.masks(exchange, frame)
            if masks is None:
                masks = frame_masks(exchange, frame, is_response=is_response)
        except Exception:  # noqa: BLE001 - the fence: what cannot be read is masked as a whole
            masks = [(0, b"x" * len(frame.data))]
        for offset, data in masks:
            before = frame.data[offset : offset + len(data)]
            direction.masks += _masks_of(start + offset, before, data)
        if exchange.pairing is Status.OPAQUE:
            _spare_head(direction.masks, frame)
        if not frame.is_whole and may_hold_secrets(exchange):
            rest = Mask(start + len(frame.data), start + frame.size, None, is_secret=False)
            direction.masks.append(rest)


def _spare_head(masks: list[Mask], frame: Frame) -> None:
    """Leave the head of a Kerberos token, without which nobody sees that it is one."""
    prefix = frame.size.to_bytes(LENGTH_BYTES)
    if masks and is_bare_token(prefix + frame.data):
        last = masks.pop()
        masks.append(last._replace(start=last.start + _BARE_TOKEN_HEAD_BYTES))


def _masks_of(start: int, before: bytes, after: bytes) -> Iterator[Mask]:
    """Yield masks that make one text of another, which has `x` or a checksum where it differs."""
    if after.count(b"x") == len(after):
        yield Mask(start, start + len(after), None, is_secret=True)
        return
    differs = np.frombuffer(before, np.uint8) != np.frombuffer(after, np.uint8)
    places = np.flatnonzero(differs)
    for run in np.split(places, np.flatnonzero(np.diff(places) > _NEAR_BYTES) + 1):
        if len(run):
            first, last = int(run[0]), int(run[-1]) + 1
            yield Mask(start + first, start + last, after[first:last], is_secret=True)


def _modulo(masks: list[Mask]) -> Iterator[Mask]:
    """Yield masks with their places modulo 2**32, in two parts where that is in one of them."""
    for mask in masks:
        start = mask.start % SEQUENCE_NUMBERS
        stop = start + mask.stop - mask.start
        yield mask._replace(start=start, stop=min(stop, SEQUENCE_NUMBERS))
        if stop > SEQUENCE_NUMBERS:
            data = mask.bytes and mask.bytes[SEQUENCE_NUMBERS - start :]
            yield Mask(0, stop - SEQUENCE_NUMBERS, data, mask.is_secret)


def _uncovered(covered: Iterable[Span]) -> Iterator[Mask]:
    """Yield masks for the numbers that no span covers in any round."""
    spans: list[Span] = []
    for first, last in covered:
        start = first % SEQUENCE_NUMBERS
        stop = start + last - first
        spans.append((start, stop))
        if stop > SEQUENCE_NUMBERS:
            spans.append((0, stop - SEQUENCE_NUMBERS))
    at = 0
    for start, stop in _union(spans):
        if at < start:
            yield Mask(at, start, None, is_secret=False)
        at = stop
    if at < SEQUENCE_NUMBERS:
        yield Mask(at, SEQUENCE_NUMBERS, None, is_secret=False)


def _in_order(masks: list[Mask]) -> list[Mask]:
    """Return masks in order; of those that overlap, the parts that no earlier one has."""
    found: list[Mask] = []
    at = 0
    for mask in sorted(masks, key=lambda each: (each.start, not each.is_secret)):
        start = max(mask.start, at)
        if start < mask.stop:
            data = mask.bytes and mask.bytes[start - mask.start :]
            found.append(mask._replace(start=start, bytes=data))
            at = mask.stop
    return found


def _union(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield the same numbers as spans that are in order and do not touch."""
    first = last = -1
    for start, stop in sorted(spans):
        if start > last:
            if first < last:
                yield first, last
            first, last = start, stop
        else:
            last = max(last, stop)
    if first < last:
        yield first, last
