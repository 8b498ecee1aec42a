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

from kdiag.clock import NS_PER_US
from kdiag.report.tables.column import BIGINT, INT, STRING, TIMESTAMP, Column, Table, cells_of


class LatencyColumns(NamedTuple):
    """The columns of many rows, as arrays of Arrow or numpy.

    Attributes:
        time_ns: the minutes in which the exchanges began, since 1970.
        broker, client_host, client_id, api_key, api: of their exchanges.
        from_ns: the least latency of each bucket.
        below_ns: where it ends.
        answers: how many are in it.
    """

    time_ns: Any
    broker: Any
    client_host: Any
    client_id: Any
    api_key: Any
    api: Any
    from_ns: Any
    below_ns: Any
    answers: Any


_COLUMNS: Final[tuple[Column[LatencyColumns], ...]] = (
    Column(
        "time",
        TIMESTAMP,
        "The minute in which the exchanges began, UTC.",
        lambda of: of.time_ns // NS_PER_US,
    ),
    Column("time_ns", BIGINT, "The same since 1970.", lambda of: of.time_ns, "ns"),
    Column("broker", STRING, "Address and port of the end that answers.", lambda of: of.broker),
    Column("client_host", STRING, "The address of the end that asks.", lambda of: of.client_host),
    Column(
        "client_id",
        STRING,
        "Of the request header; null if there is none.",
        lambda of: of.client_id,
    ),
    Column("api_key", INT, "Key of the API; null if unknown.", lambda of: of.api_key),
    Column(
        "api",
        STRING,
        "Kafka's name of the API, such as `Fetch`; null if unknown.",
        lambda of: of.api,
    ),
    Column(
        "from_ns",
        BIGINT,
        "The least latency that is counted here; a bucket is at most 1/64 of it wide.",
        lambda of: of.from_ns,
        "ns",
    ),
    Column(
        "below_ns",
        BIGINT,
        "The latency from which on they are counted in the next bucket.",
        lambda of: of.below_ns,
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

latency_cells: Final = cells_of(_COLUMNS)
"""Return the columns of rows of `latency_minutes`, in their order."""
