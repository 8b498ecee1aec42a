"""Connections with what TCP did on them, made of rows of tables.

    tcp, 2 rows          how long the sender waited, and for what     TcpFacts
    exchanges, summed    the sizes and times of its requests          RequestCycles

`kdiag.diagnosis.tcp` judges them as those of a capture.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, Final, NamedTuple

import msgspec

from kdiag.clock import TimeRange
from kdiag.diagnosis.tcp.request_cycles import Frames, RequestCycles
from kdiag.exchange.model import Connection
from kdiag.exchange.tcp_facts import Spread, TcpDirection, TcpFacts
from kdiag.report.engine import Database
from kdiag.report.overview.questions import Row, ask, rows_of
from kdiag.report.tables.tcp import REQUEST, RESPONSE

MOST_CONNECTIONS: Final = 10_000
"""So many are read, those with the most bytes."""

_PACKAGE: Final = "kdiag.report.overview.tcp"


class FollowedConnection(NamedTuple):
    """A connection on which TCP was followed.

    Attributes:
        connection: with its facts of TCP.
        cycles: its requests and responses, summed up.
    """

    connection: Connection
    cycles: RequestCycles


class UnfollowedCount(NamedTuple):
    """How many connections there are, and on how many of them TCP was not followed."""

    connections: int
    unfollowed: int


def followed_connections(database: Database, times: TimeRange) -> Iterator[FollowedConnection]:
    """Yield the connections of which the table `tcp` tells, those with the most bytes.

    Args:
        database: the tables.
        times: of their rows: of a connection that goes on behind, exchanges are missing.

    Raises:
        ReportError: if a table or a column is missing, or memory is full.
    """
    rows = rows_of(
        database, "connections", _PACKAGE, until_ns=times.to_ns or 0, most=MOST_CONNECTIONS
    )
    for _, both in groupby(rows, key=lambda row: row["connection_id"]):
        ways = {row["direction"]: row for row in both}
        if REQUEST in ways and RESPONSE in ways:
            yield FollowedConnection(
                _connection(ways[REQUEST], ways[RESPONSE]), _cycles(ways[REQUEST])
            )


def count_unfollowed(database: Database) -> UnfollowedCount:
    """Return on how many connections TCP was not followed.

    Raises:
        ReportError: as above.
    """
    (row,) = ask(database, "unfollowed", _PACKAGE)
    return UnfollowedCount(**row)


def _connection(requests: Row, responses: Row) -> Connection:
    facts = TcpFacts(
        requests=_direction(requests),
        responses=_direction(responses),
        client_rtt_ns=requests["client_rtt_ns"],
        broker_rtt_ns=requests["broker_rtt_ns"],
        has_handshake=requests["has_handshake"],
        has_sack=requests["has_sack"],
        has_timestamps=requests["has_timestamps"],
    )
    return Connection(
        number=requests["connection"],
        connection_id=requests["connection_id"],
        client=requests["client"],
        broker=requests["broker"],
        first_ns=requests["first_ns"],
        last_ns=requests["last_ns"],
        request_bytes=requests["bytes"],
        response_bytes=responses["bytes"],
        syns=requests["syns"],
        tcp=facts,
    )


def _direction(row: Row) -> TcpDirection:
    facts = row | {
        "first_ns": row["first_segment_ns"] or 0,
        "last_ns": row["last_segment_ns"] or 0,
        "mss": row["mss_bytes"],
        "window": _spread(row, "window", "bytes"),
        "in_flight": _spread(row, "in_flight", "bytes"),
        "ack_rtt_ns": _spread(row, "ack_rtt", "ns"),
    }
    return msgspec.convert(facts, TcpDirection)


def _spread(row: Row, name: str, unit: str) -> Spread | None:
    """Return the spread of a value; None if it was not measured.

    What is no column is not judged either: there is the nearest value that is one.
    """
    median: int | None = row[f"{name}_median_{unit}"]
    most: int | None = row[f"{name}_most_{unit}"]
    if median is None or most is None:
        return None
    least: int = row.get(f"{name}_least_{unit}", median)
    return Spread(least, median, row.get(f"{name}_p95_{unit}", most), most)


def _cycles(row: Row) -> RequestCycles:
    apis = row["apis"] or ()
    starts = [each["first_ns"] for each in apis if each["first_ns"] is not None]
    return RequestCycles(
        requests=_frames(apis, REQUEST),
        responses=_frames(apis, RESPONSE),
        pending_ns=_sum(apis, "pending_ns"),
        first_ns=min(starts, default=0),
        last_ns=max((each["last_ns"] or 0 for each in apis), default=0),
        client_id=row["client_id"],
    )


def _frames(apis: Iterable[Mapping[str, Any]], side: str) -> Frames:
    apis = [each for each in apis if each[f"{side}_count"]]
    return Frames(
        count=_sum(apis, f"{side}_count"),
        bytes=_sum(apis, f"{side}_bytes"),
        squares=_sum(apis, f"{side}_squares"),
        latency_products=_sum(apis, f"{side}_products"),
        answered_bytes=_sum(apis, f"{side}_answered"),
        by_api={each["api_key"]: int(each[f"{side}_bytes"]) for each in apis},
    )


def _sum(apis: Iterable[Mapping[str, Any]], name: str) -> int:
    """Return a sum that may take more than 64 bits, which come as decimals."""
    return sum(int(each[name] or 0) for each in apis)
