"""What a decoder counts: segments, connections, exchanges, and what is wrong with some."""

from typing import Protocol

import msgspec

from kdiag.exchange.model import Connection


class ResponseOrder(Protocol):
    """Who sees the order of responses; the attributes are those of `Counts`."""

    overtaken: int
    first_overtaken: int
    violations: int
    first_violation: int
    early: int
    first_early: int
    skew_ns: int


class Counts(msgspec.Struct):
    """The counts of a decoder.

    Attributes:
        segments: TCP segments.
        connections: TCP connections; a reused 4-tuple is a new one.
        sightings: how many more there would be if those seen again elsewhere were not linked.
        exchanges: requests, and responses without one.
        duplicates: segments that carried nothing new.
        gaps, gap_bytes: holes in the capture.
        not_understood, not_understood_bytes: bytes that are here, of which no frame could be made.
        overlap_mismatches: segments that contradict bytes which came before.
        strays: packets whose numbers do not fit their connection.
        overtaken: responses that came after one to a later request.
        first_overtaken: number of the first such exchange; 0 without any.
        violations, first_violation: responses to no request, where no byte of requests is missing.
        early: responses that were captured before the last byte of their request.
        first_early: number of the first such exchange; 0 without any.
        skew_ns: how much earlier, at most: the clocks that recorded them differ by more.
        given_up: connections that were ended early, because all together held too much.
        resumed: connections that went on after they were ended by idleness.
    """

    segments: int = 0
    connections: int = 0
    sightings: int = 0
    exchanges: int = 0
    duplicates: int = 0
    gaps: int = 0
    gap_bytes: int = 0
    not_understood: int = 0
    not_understood_bytes: int = 0
    overlap_mismatches: int = 0
    strays: int = 0
    overtaken: int = 0
    first_overtaken: int = 0
    violations: int = 0
    first_violation: int = 0
    early: int = 0
    first_early: int = 0
    skew_ns: int = 0
    given_up: int = 0
    resumed: int = 0

    def note_order(self, order: ResponseOrder) -> None:
        """Note what was seen of the order of responses so far."""
        for name in ResponseOrder.__annotations__:
            setattr(self, name, getattr(order, name))

    def add(self, connection: Connection, overlap_mismatches: int, strays: int) -> None:
        """Add those of a connection that has ended."""
        self.duplicates += connection.duplicates
        self.gaps += connection.gaps
        self.gap_bytes += connection.gap_bytes
        self.not_understood += connection.not_understood
        self.not_understood_bytes += connection.not_understood_bytes
        self.overlap_mismatches += overlap_mismatches
        self.strays += strays
