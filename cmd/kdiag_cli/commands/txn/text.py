"""Open transactions: a table for people, JSON for programs."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from kdiag.client.network.metadata import Broker
from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.transactions import OpenPartition, Place, Transaction
from kdiag.exchange.documents.document import Clockface
from kdiag.wire.api.write_txn_markers import WriteTxnMarkersRequest
from kdiag.wire.codec.json_form import to_json
from kdiag_cli.output.table.layout import TableColumn
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import GREEN, RED, YELLOW, Output

Groups = Mapping[Place, Sequence[str]]
"""The names of those that wait for a transaction, by partition."""

_VERSION: Final = 1

_COLUMNS: Final = (
    TableColumn("TRANSACTIONAL-ID"),
    TableColumn("STATE", 3),
    TableColumn("HANGS", colours={"yes": RED, "no": GREEN, "unknown": YELLOW}),
    TableColumn("AGE-MS", unit="age"),
    TableColumn("PRODUCER-ID", 2),
    TableColumn("EPOCH", 4),
    TableColumn("COORDINATOR", 5),
    TableColumn("PARTITION"),
    TableColumn("START", 3),
    TableColumn("LSO", 6),
    TableColumn("END", 6),
    TableColumn("BLOCKED", 1),
    TableColumn("WAITING-GROUPS", 2),
)


def print_transactions(
    output: Output,
    transactions: Sequence[Transaction],
    groups: Groups,
    *,
    has_headers: bool = True,
) -> None:
    """Print a row for each partition that a transaction is open in."""
    rows = [row for each in transactions for row in _rows(each, groups)]
    print_table(output, _COLUMNS, rows, has_headers=has_headers)


def _rows(transaction: Transaction, groups: Groups) -> list[tuple[object, ...]]:
    """Return the partitions that leaders have open; else those that the coordinator tells."""
    facts = (
        transaction.transactional_id,
        transaction.state,
        _hangs(transaction),
        transaction.age_ms,
        transaction.producer_id,
        transaction.producer_epoch,
        transaction.node_id,
    )
    rows: list[tuple[object, ...]] = [
        (
            *facts,
            str(each),
            each.start_offset,
            each.lso,
            each.end,
            each.end - each.lso,
            _waiting(groups, each.place),
        )
        for each in transaction.partitions
    ]
    held = {each.place for each in transaction.partitions}
    more = sorted(set(transaction.places) - held)
    rows += [
        (*facts, f"{topic}[{number}]", None, None, None, 0, _waiting(groups, (topic, number)))
        for topic, number in more
    ]
    return rows or [(*facts, None, None, None, None, None, None)]


def _waiting(groups: Groups, place: Place) -> str | None:
    return " ".join(groups.get(place, ())) or None


def _hangs(transaction: Transaction) -> str:
    if transaction.hangs is not None:
        return "yes"
    return "unknown" if transaction.is_unknown else "no"


def document(
    transaction: Transaction,
    brokers: Mapping[int, Broker],
    commands: Mapping[Place, str],
    groups: Groups,
) -> dict[str, Any]:
    """Return a transaction in the shape that `kdiag help output` states."""
    broker = brokers.get(-1 if transaction.node_id is None else transaction.node_id)
    hangs = transaction.hangs is not None
    first = transaction.partitions[0] if hangs and transaction.partitions else None
    started_ms = transaction.started_ms
    return {
        "transactional_id": transaction.transactional_id,
        "producer_id": transaction.producer_id,
        "producer_epoch": transaction.producer_epoch,
        "state": transaction.state,
        "started": None if started_ms is None else Clockface().text(started_ms * NS_PER_MS),
        "age_ms": transaction.age_ms,
        "timeout_ms": transaction.timeout_ms,
        "coordinator": broker and {"node_id": broker.id, "host": broker.host, "port": broker.port},
        "partitions": [_partition(each, groups) for each in transaction.partitions],
        "hanging": None if transaction.is_unknown else hangs,
        "why": transaction.hangs,
        "owner_host": None,  # no API of Kafka's tells it
        "abort_command": None if first is None else commands[first.place],
    }


def _partition(partition: OpenPartition, groups: Groups) -> dict[str, Any]:
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "leader": partition.leader_id,
        "start_offset": partition.start_offset,
        "lso": partition.lso,
        "end": partition.end,
        "blocked_records": partition.end - partition.lso,
        "waiting_groups": groups.get(partition.place, []),
    }


def request_form(request: WriteTxnMarkersRequest) -> dict[str, Any]:
    """Return a request in Kafka's JSON."""
    return to_json(request, _VERSION)
