"""What reports say of the recorded captures, against what their clients and recorder said."""

import json
import os
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from kdiag.report.tables.catalog import TABLES
from recordings.capture_tables import report_rows, tables_of
from tiers.sampling import sample

FOLDER = Path(os.environ.get("KDIAG_REFERENCE", "")) / "captures"
TRUTHS = sorted(FOLDER.glob("*.json")) if "KDIAG_REFERENCE" in os.environ else []

pytestmark = pytest.mark.skipif(not TRUTHS, reason="KDIAG_REFERENCE is not set")

BREAKING = {
    "oldjava_0_9_0_1_gzip": {
        ("producer-1", "Produce v1 (needs v3)"),
        ("consumer-1", "Fetch v1 (needs v4), ListOffsets v0 (needs v1)"),
    },
    "oldjava_0_10_2_2_snappy": {
        ("producer-1", "Produce v2 (needs v3)"),
        ("consumer-1", "Fetch v3 (needs v4)"),
    },
    "oldjava_0_10_2_2_vs_4_3": {("producer-1", "Produce v2 (needs v3)")},
    "sarama_as_0_10_2": {("sarama-rec", "Fetch v3 (needs v4), Produce v2 (needs v3)")},
}
"""The clients with requests below the minima of Kafka 4, and these requests."""

LIBRARIES = {
    "confluent-kafka": "confluent-kafka-python",
    "confluent-kafka (librdkafka)": "confluent-kafka-python",
    "franz-go": "kgo",
    "Java kafka-clients": "apache-kafka-java",
    "Java kafka-streams": "apache-kafka-java",
    "kafka-python": "kafka-python",
    "@platformatic/kafka": "platformatic-kafka",
    "rskafka": "rskafka",
    "sarama": "sarama",
}
"""What libraries call themselves; the others of the captures do not."""
TELLS_NO_SOFTWARE = ("oldjava", "midstream", "snaplen", "sasl_wrong")
"""Java before 2.4 and before authentication; no ApiVersions or not enough of it in the capture."""


def params() -> list[Any]:
    """Return the captures with old requests, and some of the others; all tests get the same."""
    old = [path for path in TRUTHS if path.stem in BREAKING]
    drawn = sample("reports", [path for path in TRUTHS if path.stem not in BREAKING], 10)
    return [pytest.param(json.loads(path.read_text()), id=path.stem) for path in (*old, *drawn)]


def tables_in(truth: dict[str, Any]) -> dict[str, pa.Table]:
    """Return the tables of a capture."""
    return read_tables(*(each["name"] for each in truth["files"] if ".pcap" in each["name"]))


@cache
def read_tables(*names: str) -> dict[str, pa.Table]:
    """Return the tables of files, with the key log beside them if there is one."""
    files = [FOLDER / name for name in names]
    keys = files[0].with_suffix(".keylog")
    return tables_of(files, keylog=keys.read_bytes() if keys.exists() else b"")


@pytest.mark.thorough
@pytest.mark.parametrize("truth", params())
def test_those_break_on_kafka_4_whose_requests_lie_below_its_minima(truth: dict[str, Any]) -> None:
    """Java 0.9, Java 0.10.2 and sarama set to 0.10.2: these and no others."""
    rows = report_rows(tables_in(truth), "compat")
    name = truth["name"].partition(".")[0]

    broken = {
        (row["client_id"], row["too_old_requests"]) for row in rows if row["verdict"] != "works"
    }
    assert broken == BREAKING.get(name, set())
    assert {row["verdict"] for row in rows} <= {"works", "breaks"}


@pytest.mark.thorough
@pytest.mark.parametrize("truth", params())
def test_clients_and_their_requests_are_those_that_were_counted(truth: dict[str, Any]) -> None:
    """By the walker that reads sizes, keys and versions only."""
    frames = truth.get("frames", {})
    if "requests_by_api" not in frames or "connections_without_syn_or_answer" in frames:
        pytest.skip("not counted: encrypted, cut, or open before the capture began")
    rows = report_rows(tables_in(truth), "clients")
    spoken = {kind.partition("(")[0] for kind in frames["requests_by_api"]}

    assert sum(row["requests"] for row in rows) == frames["requests"]
    assert {each.split()[0] for row in rows for each in row["apis"].split(", ")} == spoken


def counted(truth: dict[str, Any], *apis: str) -> int:
    """Return how many requests of some APIs the walker counted; of none named, all."""
    kinds = truth["frames"]["requests_by_api"].items()
    return sum(count for kind, count in kinds if not apis or kind.partition("(")[0] in apis)


@pytest.mark.thorough
@pytest.mark.parametrize("truth", params()[len(BREAKING) :: 3])
def test_requests_are_those_that_were_counted_in_every_report(truth: dict[str, Any]) -> None:
    """Of who talks to whom, asks for metadata and commits; and each answer has its time."""
    frames = truth.get("frames", {})
    if "requests_by_api" not in frames or "connections_without_syn_or_answer" in frames:
        pytest.skip("not counted: encrypted, cut, or open before the capture began")
    tables = tables_in(truth)
    sums = {
        name: sum(row[column] or 0 for row in report_rows(tables, name))
        for name, column in (
            ("topology", "requests"),
            ("metadata", "requests"),
            ("commits", "commits"),
            ("latency", "answers"),
            ("latency_over_time", "answers"),
        )
    }

    assert sums["topology"] == frames["requests"]
    assert sums["metadata"] == counted(truth, "Metadata")
    assert sums["commits"] == counted(truth, "OffsetCommit", "TxnOffsetCommit")
    assert sums["latency"] == sums["latency_over_time"] == frames["responses"]


@pytest.mark.parametrize("truth", params())
def test_the_library_is_the_one_that_was_run(truth: dict[str, Any]) -> None:
    """With its version; where the capture can show it."""
    library = LIBRARIES.get(truth["client"])
    version = truth["client_version"].split()[0]
    is_told = version[0].isdigit() and not truth["name"].startswith(TELLS_NO_SOFTWARE)
    if library is None or not is_told:
        pytest.skip("the client does not tell, or there are several")
    rows = report_rows(tables_in(truth), "clients")
    if not rows:
        pytest.skip("encrypted, and no key is known")

    assert any(
        row["software"] == library and version in row["software_version"]
        for row in rows
        if row["software"] is not None
    )


def truth_named(name: str) -> dict[str, Any]:
    """Return what is known of a capture."""
    truth: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text())
    return truth


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "mechanism"),
    [
        ("sasl_plain_java", "PLAIN"),
        ("sasl_scram512_franz", "SCRAM-SHA-512"),
        ("sasl_ssl_scram_aiokafka", "SCRAM-SHA-512"),
        ("sasl_wrong_password_java", "PLAIN"),
    ],
)
def test_the_sasl_mechanism_is_told(name: str, mechanism: str) -> None:
    """Inside TLS as well, with its key log."""
    rows = report_rows(tables_in(truth_named(name)), "clients")

    assert {row["sasl_mechanism"] for row in rows} == {mechanism}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("name", "codec"), [("java43_gzip", "gzip"), ("java43_zstd", "zstd"), ("java43_none", "none")]
)
def test_throughput_counts_what_the_client_handed_over_and_got(name: str, codec: str) -> None:
    """Records by flow, with the codec that was configured."""
    truth = truth_named(name)
    told = {event["ev"]: event["records"] for event in truth["timeline"] if "records" in event}
    rows = [
        row
        for row in report_rows(tables_in(truth), "throughput")
        if not row["topic"].startswith("__")
    ]

    assert {row["compression"] for row in rows} == {codec}
    flows = {
        flow: sum(row["records"] for row in rows if row["flow"] == flow)
        for flow in ("produce", "fetch")
    }
    assert flows == {"produce": told["produced"], "fetch": told["consumed"]}


@pytest.mark.thorough
def test_replication_is_no_consumption() -> None:
    """What brokers fetch from one another is a flow of its own."""
    rows = report_rows(tables_in(truth_named("kraft_cluster_start")), "throughput")

    assert {row["flow"] for row in rows} == {"produce", "replicate"}


@pytest.mark.thorough
def test_a_big_message_is_split() -> None:
    """2 MB take some 1,400 segments in each direction."""
    rows = report_rows(tables_in(truth_named("big_message_2mb_java")), "splits")
    most = {(row["api"], row["direction"]): row["most_segments"] for row in rows}

    assert most["Produce", "request"] > 1_000
    assert most["Fetch", "response"] > 1_000


@pytest.mark.thorough
def test_requests_that_share_a_segment_are_counted() -> None:
    """A kcat asks for the first and the last offset at once, twice, each time in one segment."""
    rows = report_rows(tables_in(truth_named("kcat_group")), "splits")
    sharing = {(row["api"], row["direction"]): row for row in rows if row["sharing_frames"]}

    assert set(sharing) == {("ListOffsets", "request")}
    assert sharing["ListOffsets", "request"]["sharing_frames"] == 4
    assert sharing["ListOffsets", "request"]["most_others"] == 1


@pytest.mark.thorough
def test_tiny_requests_are_not_split() -> None:
    """One record in each."""
    truth = truth_named("pipelined_tiny_java")
    rows = report_rows(tables_in(truth), "splits", api="Produce")
    (requests,) = (row for row in rows if row["direction"] == "request")

    assert requests["frames"] == truth["frames"]["requests_by_api"]["Produce(0) v13"]
    assert (requests["split_frames"], requests["most_segments"]) == (0, 1)


@pytest.mark.thorough
def test_denied_clients_are_named_with_their_errors() -> None:
    """Bob has no ACL."""
    rows = report_rows(tables_in(truth_named("acl_denied_java")), "errors")
    problems = {row["problem"] for row in rows}

    assert problems >= {
        "TOPIC_AUTHORIZATION_FAILED",
        "GROUP_AUTHORIZATION_FAILED",
        "CLUSTER_AUTHORIZATION_FAILED",
    }


@pytest.mark.thorough
def test_a_delayed_fetch_is_slow_as_it_was_asked_to_be() -> None:
    """The broker waits 1.5 s for data where there is none."""
    rows = report_rows(tables_in(truth_named("delayed_fetch_java")), "latency", api="Fetch")

    assert max(row["p90_us"] for row in rows) > 1_490_000
    for row in rows:
        order = ("least_us", "p50_us", "p90_us", "p99_us", "p999_us", "most_us")
        assert [row[name] for name in order] == sorted(row[name] for name in order)


def test_every_table_has_rows_somewhere() -> None:
    """Else the reports would be right about nothing."""
    found = dict.fromkeys(TABLES, 0)
    for name in ("capture_drops_java", "java43_gzip", "reb_crash_confluent"):
        for table, rows in tables_in(truth_named(name)).items():
            found[table] += rows.num_rows

    assert all(found[name] for name in TABLES if name not in {"records", "tcp"})


@pytest.mark.thorough
def test_what_a_rolling_restart_does_is_in_the_reports() -> None:
    """Each of three brokers refuses connects for a while; clients ask again after its errors."""
    truth = truth_named("rolling_restart_java")
    tables = tables_in(truth)
    refused = {
        row["broker"].rpartition(":")[2]
        for row in report_rows(tables, "tcp")
        if row["refused"] and row["broker"].rpartition(":")[2] in {"22001", "22002", "22003"}
    }
    after = {row["after"] for row in report_rows(tables, "retries")}
    causes = {row["cause"] for row in report_rows(tables, "rebalances")}

    assert refused == {"22001", "22002", "22003"}
    assert {"NOT_LEADER_OR_FOLLOWER", "NOT_COORDINATOR"} & after
    assert "member_joined" in causes


@pytest.mark.thorough
def test_rebalances_are_those_that_their_members_told_of() -> None:
    """Each generation that a member was assigned in is one that somebody joined or left for."""
    for name in ("reb_join_java_confluent", "reb_growth_java", "reb_subscription_java"):
        truth = truth_named(name)
        told = {
            event["generation"]
            for event in truth["timeline"]
            if event.get("ev") == "assigned" and "generation" in event
        }
        rows = report_rows(tables_in(truth), "rebalances")
        assert sum(row["rebalances"] for row in rows) >= len(told) > 1, name
        assert {row["type"] for row in rows} == {"classic"}, name


@pytest.mark.thorough
def test_what_a_capture_lacks_is_told_of_its_connections() -> None:
    """The recorder was stopped four times, and lost packets; the client lost nothing."""
    lost = report_rows(tables_in(truth_named("capture_drops_java")), "tcp")
    whole = report_rows(tables_in(truth_named("java43_gzip")), "tcp")

    assert sum(row["missing_bytes"] for row in lost) > 0
    assert sum(row["missing_bytes"] + row["refused"] for row in whole) == 0
