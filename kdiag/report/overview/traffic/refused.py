"""What brokers refused, counted by SQL: the ledgers of `Refusing`."""

from typing import Final

from kdiag.diagnosis.traffic.changes import OF_INSTANCES, Change
from kdiag.diagnosis.traffic.ledgers import Asker
from kdiag.diagnosis.traffic.refusing import (
    BUCKET_NS,
    MOST_TIMES,
    MOST_TOPICS,
    NO_REFUSALS,
    Refusing,
    Subject,
)
from kdiag.diagnosis.traffic.traffic import OWN_CLIENT_ID, Traffic
from kdiag.exchange.line.phrase import count
from kdiag.report.engine import Database
from kdiag.report.overview.questions import Row, ask, rows_of
from kdiag.wire.error_code import code_of_name

_PACKAGE: Final = "kdiag.report.overview.traffic"


def read_refused(database: Database, traffic: Traffic) -> str:
    """Count what brokers refused, and what belongs to it.

    Args:
        database: the tables.
        traffic: gets the counts.

    Returns:
        What is not known, and why; empty if all is.

    Raises:
        ReportError: if a column is missing, or memory is full.
    """
    refusing = traffic.refusing
    for row in ask(database, "asked", _PACKAGE):
        refusing.asked[asker_of(row), row["api_key"]] = row["asked"]
    counted = {"own": f"{OWN_CLIENT_ID}%", "bucket_ns": BUCKET_NS, "most_times": MOST_TIMES}
    for row in rows_of(database, "outcomes", _PACKAGE, **counted):
        _put_outcome(refusing, row)
    topics = ask(database, "known_topics", _PACKAGE, most_topics=MOST_TOPICS)
    refusing.learn_topics([row["topic"] for row in topics])
    for row in reversed(ask(database, "changes", _PACKAGE)):
        subjects = frozenset(row["subjects"])
        refusing.changes.put(Change(row["time_ns"], row["changed_by"], subjects, row["text"]))
    connections: dict[str, int] = {}
    for row in ask(database, "instances", _PACKAGE, of_instances=sorted(OF_INSTANCES)):
        number = connections.setdefault(row["connection_id"], len(connections))
        refusing.instances.put(row["group_id"], row["instance"], number, row["client"])
    (end,) = ask(database, "end", _PACKAGE)
    refusing.last_ns = end["last_ns"]
    if end["unknown"]:
        what = count(end["unknown"], "refused request")
        return f"{what}: an earlier release has written these tables: make them again"
    return ""


def asker_of(row: Row) -> Asker:
    """Return the client that a row is about."""
    return Asker(row["client_host"], row["client_id"])


def _put_outcome(refusing: Refusing, row: Row) -> None:
    """Count what some answers to a client came to, about one subject."""
    place = asker_of(row), row["api_key"], row["about"], row["partition"]
    if row["error"] is None:
        for time_ns in (*row["to_times_ns"], row["last_ns"]):
            refusing.succeed(place, time_ns)
        return
    if row["error"] in NO_REFUSALS:
        return
    code = code_of_name(row["error"])
    subject = Subject(row["about"], row["kind"])
    refusal, ledger = refusing.refusal_of(place, code, subject, row["broker"])
    of_error = refusal.kind != row["kind"]  # such as of the broker, whatever topic was asked for
    refusing.requests[refusal._replace(partition=None)] += row[
        "of_error" if of_error else "requests"
    ]
    if ledger is not None:
        times_ns = sorted({*row["from_times_ns"], *row["to_times_ns"], row["last_ns"]})
        ledger.add_counted(row["count"], times_ns, row["broker"], row["example"])
