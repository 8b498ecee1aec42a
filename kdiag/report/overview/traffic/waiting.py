"""Writes that waited for followers, found by SQL: the times of `Replicating`.

Only brokers with writes that waited are looked at in full, and these are few.
"""

from typing import Final

from kdiag.diagnosis.traffic.replicating import UNKNOWN, WriteWait
from kdiag.diagnosis.traffic.silence import LEAST_SILENT_NS
from kdiag.diagnosis.traffic.traffic import OWN_CLIENT_ID, Traffic
from kdiag.report.engine import Database
from kdiag.report.overview.questions import Row, ask, rows_of
from kdiag.report.overview.traffic.refused import asker_of

_PACKAGE: Final = "kdiag.report.overview.traffic"


def read_write_waits(database: Database, traffic: Traffic) -> str:
    """Find writes that waited, and what their brokers answered meanwhile.

    Args:
        database: the tables.
        traffic: gets the times.

    Returns:
        What is not known, and why; empty if all is.

    Raises:
        ReportError: if a table or a column is missing, or memory is full.
    """
    own = {"own": f"{OWN_CLIENT_ID}%"}
    rows = ask(
        database,
        "write_waits",
        _PACKAGE,
        least_ns=LEAST_SILENT_NS,
        unknown=sorted(UNKNOWN),
        **own,
    )
    if not rows:
        return ""
    (bare,) = ask(database, "bare_metadata", _PACKAGE)
    if bare["responses"]:
        return (
            "how many replicas partitions have is in the bodies of Metadata responses: make the "
            "tables without --no-bodies"
        )
    replicating = traffic.replicating
    (end,) = ask(database, "end", _PACKAGE)
    replicating.restore([(row["broker"], _wait(row)) for row in rows], end["last_seen_ns"])
    topics = sorted({each["topic"] for row in rows for each in row["places"]})
    for row in ask(database, "replicas", _PACKAGE, topics=topics):
        replicating.learn_replica_count(row["topic"], row["partition"], row["replicas"])
    brokers = sorted({row["broker"] for row in rows})
    for row in rows_of(database, "write_answers", _PACKAGE, brokers=brokers, **own):
        place = (row["broker"], row["name"])
        replicating.note_answers(row["kind"], place, (row["from_ns"], row["to_ns"]))
    return ""


def _wait(row: Row) -> WriteWait:
    return WriteWait(
        row["asked_ns"],
        row["ended_ns"],
        asker_of(row),
        row["acks"],
        tuple(sorted((each["topic"], each["partition"]) for each in row["places"])),
        row["number"],
    )
