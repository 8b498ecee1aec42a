"""Findings about failed connections and missing answers, told from tables.

SQL counts what `RecordedFaults` counts of a capture one by one; which rule it breaks, and what is
said of it, is written there.
"""

from typing import Final

from kdiag.diagnosis.recorded_faults import (
    FaultTally,
    Key,
    RecordedFaults,
    Symptoms,
    key_of_connection,
    key_of_exchange,
)
from kdiag.exchange.model import UnansweredReason
from kdiag.exchange.summary.counts import kind_text
from kdiag.pcap.tls.problem import fault_of
from kdiag.report.engine import Database
from kdiag.report.overview.questions import Row, rows_of

_PACKAGE: Final = "kdiag.report.overview.faults"


def recorded_faults(database: Database) -> RecordedFaults:
    """Return the faults of connections and exchanges.

    Args:
        database: the tables.

    Raises:
        ReportError: if a table or a column is missing, or memory is full.
    """
    faults = RecordedFaults()
    for row in rows_of(database, "faults", _PACKAGE):
        key = _key(row)
        if key is not None:
            hosts, apis = {row["host"]: None}, {kind_text(row["api_key"], row["version"]): None}
            faults.add(key, FaultTally(row["count"], row["first_ns"], row["last_ns"], hosts, apis))
    return faults


def _key(row: Row) -> Key | None:
    """Return the fault of a row, which is of connections or of exchanges; None if it has none."""
    broker, problem, reason = row["broker"], row["tls_problem"], row["unanswered_reason"]
    fault = None if problem is None else fault_of(problem)
    if reason is None and not row["is_violation"]:
        return key_of_connection(broker, row["close_reason"], fault, problem)
    symptoms = Symptoms(
        broker,
        None if reason is None else UnansweredReason(reason),
        row["is_violation"],
        fault is not None,
        row["request_bytes"],
        row["is_behind_proxy_header"],
    )
    return key_of_exchange(symptoms)
