from kdiag.client.network.metadata import Broker
from kdiag.diagnosis.transactions import OpenPartition, Transaction
from kdiag_cli.commands.txn.text import document, print_transactions
from programs.kdiag_program import Printed

PARTITION = OpenPartition(
    topic="orders",
    partition=3,
    leader_id=1,
    producer_id=7,
    producer_epoch=2,
    coordinator_epoch=-1,
    start_offset=5,
    last_ms=0,
    lso=5,
    end=9,
)


def transaction(**facts: object) -> Transaction:
    """Return a transaction that is alive."""
    known: dict[str, object] = {
        "transactional_id": "wri\x1bter",
        "state": "Ongoing",
        "producer_id": 7,
        "producer_epoch": 2,
        "node_id": 1,
        "started_ms": 1_700_000_000_000,
        "age_ms": 1500,
        "timeout_ms": 60_000,
        "partitions": [PARTITION],
        "places": {("orders", 3), ("clicks", 0)},
    }
    return Transaction(**(known | facts))  # type: ignore[arg-type]


def test_each_partition_has_a_row() -> None:
    """Those that only the coordinator tells hold nothing back."""
    printed = Printed()
    groups = {("orders", 3): ["billing", "audit"]}
    print_transactions(printed, [transaction(), transaction(partitions=[], places=())], groups)
    rows = [line.split("\t") for line in printed.lines[1:]]
    assert [row[7] for row in rows] == ["orders[3]", "clicks[0]", "-"]
    assert [row[11] for row in rows] == ["4", "0", "-"]
    assert [row[12] for row in rows] == ["billing audit", "-", "-"]
    assert rows[0][0] == "wri\\x1bter"


def test_a_document_has_the_keys_that_are_promised() -> None:
    """The command stands there for what hangs alone."""
    brokers = {1: Broker(1, "kafka-1", 9092)}
    commands = {("orders", 3): "kdiag txn abort"}
    alive = document(transaction(), brokers, commands, {})
    assert alive["started"] == "2023-11-14T22:13:20.000000000Z"
    assert alive["coordinator"] == {"node_id": 1, "host": "kafka-1", "port": 9092}
    assert (alive["hanging"], alive["abort_command"]) == (False, None)
    assert alive["partitions"][0]["blocked_records"] == 4
    hanging = document(transaction(hangs="is gone", node_id=None), brokers, commands, {})
    assert (hanging["hanging"], hanging["abort_command"]) == (True, "kdiag txn abort")
    assert hanging["coordinator"] is None
    assert document(transaction(is_unknown=True), brokers, commands, {})["hanging"] is None
