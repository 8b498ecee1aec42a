"""The table `latency_minutes`: latencies counted by minute, in buckets that add up.

    latency          bucket, from_ns until before below_ns
    100 ns           [100, 101)               below 128 ns every latency has its own
    1,000,000 ns     [999,424, 1,007,616)     above, 64 buckets for each power of two
    1,000,100 ns     the same one

A histogram of a year is the sum of those of its minutes: rows with the same bucket are added up, by
SQL as plain as `sum(answers) ... GROUP BY from_ns, below_ns`, whatever runs, captures and machines
they come from. A bucket is never wider than 1/64 of its latencies. So who takes the middle of the
bucket that holds a percentile is off by at most 1/128 of it, 0.8 %.

Source: the layout of HdrHistogram's counts with 128 sub-buckets.
"""

from typing import Any, Final, NamedTuple

from kdiag.clock import NS_PER_S, NS_PER_US
from kdiag.report.tables.column import (
    BIGINT,
    INT,
    STRING,
    TIMESTAMP,
    Column,
    Table,
    cells_of,
    client_host,
)
from kdiag.report.tables.exchanges import ExchangeFacts

MINUTE_NS: Final = 60 * NS_PER_S
_EXACT_BITS: Final = 7
"""Latencies of so many bits have a bucket of their own: 64 of them begin with a one."""


class LatencyBucket(NamedTuple):
    """What the answers in a row have in common.

    Attributes:
        minute_ns: the minute in which their requests began, since 1970.
        broker, client_host, client_id, api_key, api: of their exchanges.
        from_ns: the least latency of the bucket.
        place: the cells behind those of the table, such as the capture.
    """

    minute_ns: int
    broker: str
    client_host: str
    client_id: str | None
    api_key: int | None
    api: str | None
    from_ns: int
    place: tuple[Any, ...]

    @property
    def below_ns(self) -> int:
        """Return the end of the bucket."""
        return self.from_ns + (1 << _shift(self.from_ns))


class _Counted(NamedTuple):
    """A bucket, and how many answers are in it."""

    bucket: LatencyBucket
    answers: int


def bucket_of(facts: ExchangeFacts, place: tuple[Any, ...] = ()) -> LatencyBucket | None:
    """Return the bucket of an exchange; None if its latency is not known."""
    latency_ns = facts.exchange.latency_ns
    if latency_ns is None:
        return None
    shift = _shift(latency_ns)
    return LatencyBucket(
        facts.time_ns // MINUTE_NS * MINUTE_NS,
        facts.connection.broker,
        client_host(facts.connection),
        facts.exchange.client_id,
        facts.api_key,
        facts.dissection.api,
        latency_ns >> shift << shift,
        place,
    )


def _shift(latency_ns: int) -> int:
    """Return how many of the last bits the latencies of a bucket differ in."""
    shift = latency_ns.bit_length() - _EXACT_BITS
    return shift if shift > 0 else 0  # noqa: FURB136 - max() takes thrice as long


_COLUMNS: Final[tuple[Column[_Counted], ...]] = (
    Column(
        "time",
        TIMESTAMP,
        "The minute in which the exchanges began, UTC.",
        lambda of: of.bucket.minute_ns // NS_PER_US,
    ),
    Column("time_ns", BIGINT, "The same since 1970.", lambda of: of.bucket.minute_ns, "ns"),
    Column(
        "broker",
        STRING,
        "Address and port of the end that answers.",
        lambda of: of.bucket.broker,
    ),
    Column(
        "client_host",
        STRING,
        "The address of the end that asks.",
        lambda of: of.bucket.client_host,
    ),
    Column(
        "client_id",
        STRING,
        "Of the request header; null if there is none.",
        lambda of: of.bucket.client_id,
    ),
    Column("api_key", INT, "Key of the API; null if unknown.", lambda of: of.bucket.api_key),
    Column(
        "api",
        STRING,
        "Kafka's name of the API, such as `Fetch`; null if unknown.",
        lambda of: of.bucket.api,
    ),
    Column(
        "from_ns",
        BIGINT,
        "The least latency that is counted here; a bucket is at most 1/64 of it wide.",
        lambda of: of.bucket.from_ns,
        "ns",
    ),
    Column(
        "below_ns",
        BIGINT,
        "The latency from which on they are counted in the next bucket.",
        lambda of: of.bucket.below_ns,
        "ns",
    ),
    Column(
        "answers",
        BIGINT,
        "How many there are; the same bucket may be in several rows, whose answers add up.",
        lambda of: of.answers,
    ),
)

LATENCY_MINUTES: Final = Table(
    "latency_minutes",
    "Answers of a minute whose latency is about the same: add them up over any time.",
    ("time_ns", "broker", "client_host", "client_id", "api_key", "from_ns"),
    _COLUMNS,
    sum="answers",
)

_cells = cells_of(_COLUMNS)


def latency_row(bucket: LatencyBucket, answers: int) -> tuple[Any, ...]:
    """Return a row of `latency_minutes`."""
    return _cells(_Counted(bucket, answers)) + bucket.place
