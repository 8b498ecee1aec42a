from pathlib import Path

import pytest

from folders import CAPTURES
from kdiag.report.difference.measured import BLOCKS, masked, measure
from kdiag.report.engine import open_tables
from kdiag.report.tables.catalog import TableChoice
from made_values.steady_load import write_load
from recordings.capture_tables import tables_of
from tiers.cases import for_each


@pytest.mark.thorough
def test_a_capture_is_measured_in_blocks(tmp_path: Path) -> None:
    """Twenty blocks of an API with enough answers; rates add up to what was written."""
    file = write_load(tmp_path / "load.pcap", 1)
    with open_tables(tables_of([file], TableChoice())) as database:
        measured = measure(database)

    assert {api: len(blocks) for api, blocks in measured.p50_blocks.items()} == {
        "Metadata": 5,
        "Produce": BLOCKS,
    }
    assert all(
        high >= low
        for low, high in zip(
            measured.p50_blocks["Produce"], measured.p90_blocks["Produce"], strict=True
        )
    )
    assert len(measured.batch_blocks["writer", "orders"]) == BLOCKS
    assert len(measured.rate_blocks["produce", "orders"]) == BLOCKS
    assert measured.settings["writer", "acks"] == "1"
    assert measured.settings["writer", "compression.type"] == "none"
    assert measured.settings["writer", "request.timeout.ms (Produce)"] == "30000"
    assert measured.versions["writer", "Produce"] == "7"
    assert measured.topics == {"orders"}
    assert measured.errors == {}


@pytest.mark.thorough
def test_settings_of_consumers_are_those_of_their_requests() -> None:
    """Real clients told them; errors that belong to joining a group are none."""
    with open_tables(tables_of([CAPTURES / "rebalance.pcap"], TableChoice())) as database:
        measured = measure(database)

    assert {name: value for (who, name), value in measured.settings.items() if who == "first"} == {
        "fetch.max.bytes": "52428800",
        "fetch.max.wait.ms": "500",
        "fetch.min.bytes": "1",
        "isolation.level": "1",
        "max.partition.fetch.bytes": "1048576",
        "max.poll.interval.ms (rebalance timeout)": "300000",
        "session.timeout.ms": "6000",
    }
    assert ("MEMBER_ID_REQUIRED", "JoinGroup") not in measured.errors
    assert ("NOT_COORDINATOR", "JoinGroup") in measured.errors
    assert measured.callers["first"].software.startswith("confluent-kafka-python")


@for_each(
    ("client", "name"),
    [
        ("app-5753a924-0b5e-4d4a-9f5e-000000000001-consumer", "app-*-consumer"),
        ("worker-0a1b2c3d4e5f", "worker-*"),
        ("worker-12", "worker-12"),
        ("started-1795268750", "started-*"),
    ],
)
def test_what_is_unique_in_a_client_id_is_masked(client: str, name: str) -> None:
    """So a client that is started again is the same."""
    assert masked(client) == name
