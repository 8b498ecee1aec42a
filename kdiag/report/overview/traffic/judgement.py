"""Findings about clients and brokers, judged from tables.

SQL counts what `Traffic` counts of a capture exchange by exchange, and `Traffic` judges the counts:
so each rule, and what it takes to break it, is written once.

The bytes of records are not in tables, so it is not known what a codec would spare (KD4103).

How many partitions a topic has is in the bodies of Metadata responses; in tables
without bodies a hot partition (KD4106) is compared with those that were written to, so it is found
later than in a capture.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import msgspec

from kdiag.diagnosis.traffic.answering import MAY_WAIT, SERVED_AT_ONCE, AnswerLedger
from kdiag.diagnosis.traffic.asking import (
    BUSY,
    LEAST_WAITED_NS,
    GivenUpLedger,
    MetadataLedger,
    OldVersion,
    QuotaLedger,
    VersionLedger,
    is_too_old,
)
from kdiag.diagnosis.traffic.consuming import CommitLedger, FetchLedger
from kdiag.diagnosis.traffic.ledgers import MAX_LEDGERS
from kdiag.diagnosis.traffic.producing import (
    HOT_BYTES,
    LARGEST_BATCH_BYTES,
    PartitionLedger,
    ProducerLedger,
)
from kdiag.diagnosis.traffic.traffic import Traffic, is_own
from kdiag.errors import ReportError
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.findings.finding import Finding
from kdiag.report.engine import Database
from kdiag.report.overview.questions import Row, ask, left_out_of
from kdiag.report.overview.traffic.lost import read_lost_clients
from kdiag.report.overview.traffic.refused import asker_of, read_refused
from kdiag.report.overview.traffic.silent import read_silences
from kdiag.report.overview.traffic.waiting import read_write_waits
from kdiag.wire.catalog import APIS

UNTOLD: Final = frozenset({"KD4103"})
"""The rules about clients and brokers that tables cannot judge."""

_PACKAGE: Final = "kdiag.report.overview.traffic"
_VERSIONS: Final = 1000
"""More than an API has versions: key and version make one number, as the question has it."""


class TableFindings(NamedTuple):
    """What is wrong by the tables.

    Attributes:
        findings: about clients and brokers.
        left_out: how many clients, partitions and the like were too many to judge.
        is_bare: whether bodies of Metadata responses are left out, which KD4106 takes.
        unjudged: what was not judged, with its reason.
    """

    findings: list[Finding]
    left_out: int
    is_bare: bool
    unjudged: list[str]


def judge_tables(database: Database) -> TableFindings:
    """Return the findings about clients and brokers.

    Args:
        database: the tables.

    Raises:
        ReportError: if a table or a column is missing, or memory is full.
    """
    traffic = Traffic(TopicNames())
    left_out = 0
    for name, put, values in _COUNTS:
        rows = ask(database, name, _PACKAGE, most=MAX_LEDGERS, **values)
        for row in rows:
            if not is_own(row.get("client_id")):
                put(traffic, row)
        left_out += left_out_of(rows)
    unjudged = [*_judge_younger(database, traffic)]
    (bare,) = ask(database, "bare_metadata", _PACKAGE)
    is_bare = bare["responses"] > 0
    findings = [*traffic.findings()]
    return TableFindings(findings, left_out + traffic.left_out, is_bare, unjudged)


def _judge_younger(database: Database, traffic: Traffic) -> Iterator[str]:
    """Count what takes columns that tables of older releases lack; yield what cannot be judged."""
    parts = {
        "errors that brokers answer (KD4501 to KD4503)": read_refused,
        "brokers that were silent (KD4402)": read_silences,
        "writes that waited for followers (KD4404, KD4405)": read_write_waits,
        "brokers with the same address (KD1503)": _read_nodes,
        "clients of a controller's listener (KD1406)": read_lost_clients,
    }
    for what, read in parts.items():
        try:
            lost = read(database, traffic)
        except ReportError as error:
            yield f"{what}: {error.why}"
            continue
        if lost:
            yield f"{what}: {lost}"


def _read_nodes(database: Database, traffic: Traffic) -> str:
    for row in ask(database, "nodes", _PACKAGE, most=MAX_LEDGERS):
        traffic.asking.nodes.put(row["address"], set(row["nodes"]))
    return ""


def _put_producer(traffic: Traffic, row: Row) -> None:
    traffic.producing.producers.put(asker_of(row), msgspec.convert(row, ProducerLedger))


def _put_partition(traffic: Traffic, row: Row) -> None:
    place = (row["topic"], row["partition"])
    traffic.producing.partitions.put(place, msgspec.convert(row, PartitionLedger))


def _put_partition_count(traffic: Traffic, row: Row) -> None:
    traffic.producing.partition_counts[row["topic"]] = row["partitions"]


def _put_fetches(traffic: Traffic, row: Row) -> None:
    place = (asker_of(row), row["broker"])
    traffic.consuming.fetches.put(place, msgspec.convert(row, FetchLedger))


def _put_commits(traffic: Traffic, row: Row) -> None:
    ledger = msgspec.convert(row, CommitLedger)
    ledger.client = asker_of(row)
    traffic.consuming.commits.put((row["connection"], row["group_id"]), ledger)


def _put_metadata(traffic: Traffic, row: Row) -> None:
    traffic.asking.metadata.put(asker_of(row), msgspec.convert(row, MetadataLedger))


def _put_quota(traffic: Traffic, row: Row) -> None:
    traffic.asking.quotas.put(asker_of(row), msgspec.convert(row, QuotaLedger))


def _put_given_up(traffic: Traffic, row: Row) -> None:
    place = (asker_of(row), row["broker"])
    traffic.asking.given_up.put(place, msgspec.convert(row, GivenUpLedger))


def _put_old_version(traffic: Traffic, row: Row) -> None:
    old = OldVersion(asker_of(row), row["broker"], row["api_key"], row["version"])
    traffic.asking.old_versions.put(old, msgspec.convert(row, VersionLedger))


def _put_offer(traffic: Traffic, row: Row) -> None:
    traffic.asking.offered.put((row["broker"], row["api_key"]), [row["newest"]])


def _put_answers(traffic: Traffic, row: Row) -> None:
    ledger = AnswerLedger()
    for bits, answers in zip(row["bits"], row["answers"], strict=True):
        ledger.by_bits[bits] += answers
    ledger.sample.add(row["sample"])
    traffic.answering.answers.put((row["broker"], asker_of(row)), ledger)


_TOO_OLD: Final = [
    api.key * _VERSIONS + version
    for api in APIS
    if api.newest is not None
    for version in range(api.newest.low)
    if is_too_old(api.key, version)
]
_COUNTS: Final[tuple[tuple[str, Callable[[Traffic, Row], None], dict[str, Any]], ...]] = (
    ("producers", _put_producer, {"limit_bytes": LARGEST_BATCH_BYTES}),
    ("partitions", _put_partition, {}),
    ("partition_counts", _put_partition_count, {"least_bytes": HOT_BYTES}),
    ("fetches", _put_fetches, {}),
    ("commits", _put_commits, {}),
    ("metadata", _put_metadata, {"busy": BUSY}),
    ("quotas", _put_quota, {}),
    ("given_up", _put_given_up, {"least_ns": LEAST_WAITED_NS}),
    ("old_versions", _put_old_version, {"too_old": _TOO_OLD}),
    ("offers", _put_offer, {}),
    (
        "answers",
        _put_answers,
        {"served_at_once": sorted(SERVED_AT_ONCE), "may_wait": sorted(MAY_WAIT)},
    ),
)
"""The questions, who takes a row of their answer, and the values of their parameters."""
