"""Evidence: how sure it is that a frame is a request.

Looks prove nothing: the response with correlation id 5 begins like Produce v5, and any protocol
that puts a length, two small numbers and a name in front of its messages begins like a request of
some version. What counts is that the whole frame *decodes*, as the API and version that it claims,
to values that a client would send:

    DECODES     all of that, and the request names its client
    NAMELESS    ... it does not, or not in printable text: ten bytes are easily ApiVersions v0
    LOOKS       bytes are cut, and those that are here contradict nothing; or the API or version is
                newer than known; or it is what a broker reads and clients do not send: values that
                make no sense, bytes behind the last field
    OPEN        more bytes are to come
    NONE        it is not a request

Whoever has no more than NAMELESS or LOOKS wants a second frame: one of the same client, with a
correlation id that is greater.
"""

from enum import IntEnum
from functools import lru_cache
from typing import Final

from kdiag.errors import DecodeError
from kdiag.pcap.kafka.request_head import RequestLikeness, request_likeness, without_id
from kdiag.pcap.kafka.trial_decoding import fits_so_far, is_sane
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY, Api
from kdiag.wire.codec.messages import try_decode_prefix
from kdiag.wire.header import read_request_header

ENOUGH_BYTES: Final = 64 << 10
"""So many bytes of a longer frame are judged without the rest."""

_MAX_KNOWN: Final = 1024
_MAX_KNOWN_BYTES: Final = 256
_ACKS: Final = (-1, 0, 1)
_LIBRDKAFKA_1_0: Final = bytes(4)
"""What versions before 1.4 send for the empty body of ApiVersions v0: the count of an array."""


class Evidence(IntEnum):
    """How sure it is that a frame is a request, the surest last."""

    NONE = 0
    OPEN = 1
    LOOKS = 2
    NAMELESS = 3
    DECODES = 4


def request_evidence(head: bytes, size: int, *, is_all: bool) -> Evidence:
    """Return how sure it is that a frame is a request.

    Args:
        head: those of its bytes that are here, without its length; not more than the frame.
        size: the length.
        is_all: whether the rest is missing, rather than still to come.
    """
    if len(head) == size <= _MAX_KNOWN_BYTES:
        return _evidence_of_small(without_id(head))
    return _evidence(head, size, is_all=is_all)


@lru_cache(_MAX_KNOWN)
def _evidence_of_small(frame: bytes) -> Evidence:
    """Return how sure it is that a whole frame is a request: clients begin with the same one."""
    return _evidence(frame, len(frame), is_all=True)


def _evidence(head: bytes, size: int, *, is_all: bool) -> Evidence:
    """Return what `request_evidence` does."""
    likeness = request_likeness(head, size)
    if likeness is RequestLikeness.NO:
        return Evidence.NONE
    if not is_all and len(head) < min(size, ENOUGH_BYTES):
        return Evidence.OPEN
    if likeness is RequestLikeness.UNCLEAR:
        return Evidence.NONE
    is_named = likeness >= RequestLikeness.STRANGE
    found = _evidence_of_body(head, size, is_likely=likeness is not RequestLikeness.STRANGE)
    if found is Evidence.LOOKS and not is_named:
        return Evidence.NONE
    if found is Evidence.DECODES and not is_named:
        return Evidence.NAMELESS if any(head) else Evidence.NONE
    return found


def _evidence_of_body(head: bytes, size: int, *, is_likely: bool) -> Evidence:
    """Return how sure it is that a frame is a request, whoever sends it; see `request_likeness`."""
    is_whole = len(head) == size
    try:
        header = read_request_header(head)
    except DecodeError:
        return Evidence.NONE if is_whole else Evidence.LOOKS
    api = API_BY_KEY.get(header.api_key)
    if api is None or not api.versions.covers(header.version):
        is_first = is_whole and header.api_key == api_keys.API_VERSIONS and is_likely
        return Evidence.DECODES if is_first else Evidence.LOOKS
    if is_whole:
        return _evidence_of_whole(api, header.version, head, header.body_offset)
    is_possible = fits_so_far(api.request_class(), header.version, head, header.body_offset, size)
    return Evidence.LOOKS if is_possible else Evidence.NONE


def _evidence_of_whole(api: Api, version: int, frame: bytes, offset: int) -> Evidence:
    """Return how sure it is that a whole frame is a request of a known version."""
    if api.key == api_keys.API_VERSIONS and frame[offset:] == _LIBRDKAFKA_1_0:
        return Evidence.DECODES
    found = try_decode_prefix(api.request_class(), version, frame, offset)
    if found is None:
        return Evidence.NONE
    message, end = found
    is_usual = end == len(frame) and is_sane(message)
    if is_usual and api.key == api_keys.PRODUCE:
        is_usual = message.acks in _ACKS  # type: ignore[attr-defined]
    return Evidence.DECODES if is_usual else Evidence.LOOKS
