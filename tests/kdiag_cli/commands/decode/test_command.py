import csv
import io
import json
import re
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Ether
from scapy.layers.vxlan import VXLAN
from scapy.utils import wrpcap

from folders import CAPTURES
from programs.kdiag_program import Done, kdiag
from recordings.wrapped_captures import OUTER, wrapped
from tiers.cases import for_each

GROUP = CAPTURES / "produce_consume_group.pcap"
SASL = CAPTURES / "sasl_plain.pcap"
ACKS = CAPTURES / "acks.pcap"
ADMIN = CAPTURES / "admin.pcap"
TRANSACTION = CAPTURES / "transaction.pcap"


def exchanges(*arguments: object) -> list[dict[str, Any]]:
    """Return the exchanges that are printed as JSON lines."""
    done = kdiag("decode", "-o", "jsonl", *arguments)
    assert done.code in (0, 8), done.err
    documents = [json.loads(line) for line in done.out.splitlines()]
    return [each for each in documents if each["kind"] == "exchange"]


def apis(*arguments: object) -> set[str]:
    """Return the APIs of the exchanges that are printed."""
    return {each["api"] for each in exchanges(*arguments)}


def test_each_exchange_is_a_line() -> None:
    """In a pipe lines are whole, plain and carry the date; how many failed is on stderr."""
    done = kdiag("decode", ACKS)

    lines = done.out.splitlines()
    judging = f"kdiag decode {ACKS} --summary judges them"
    assert done.code == 0
    assert done.err == f"kdiag: 24 requests: 0 answered with an error; {judging}\n"
    assert kdiag("decode", ACKS, "-o", "jsonl").err == ""
    assert len(lines) == 24
    assert "\x1b" not in done.out
    assert re.fullmatch(
        r" +20 2026-11-21 13:45:45\.733603Z 5\.38 ms Produce v10 +orders\[0\] 1 record 158 B, "
        r"acks all → at 10  acks-all  127\.0\.0\.1:52314 → 127\.0\.0\.1:35043 \(id 1\)",
        lines[19],
    )


@pytest.mark.thorough
@for_each(
    ("arguments", "shown"),
    [
        (["--summary"], "2026-11-21 14:45:45 to 14:45:45 CET"),
        (["--show", 20], "2026-11-21T14:45:45.733603000+01:00"),
        (["--api", "Produce"], "2026-11-21 14:45:45.733603+01:00"),
        (["--since", "14:45", "--api", "Produce"], "2026-11-21 14:45:45.733603+01:00"),
        (["-o", "jsonl"], "2026-11-21T13:45:45.733603000Z"),
        (["-o", "csv"], "2026-11-21T13:45:45.733603000Z"),
    ],
)
def test_texts_show_times_in_a_zone_and_documents_in_utc(
    arguments: list[object], shown: str
) -> None:
    """Whichever zone `--time` names; a time of day of `--since` is one of it as well."""
    done = kdiag("decode", ACKS, "--time", "Europe/Berlin", *arguments)
    assert done.code == 0
    assert shown in done.out
    assert "13:45" not in done.out or arguments[0] == "-o"


@pytest.mark.thorough
@for_each(
    ("arguments", "expected"),
    [
        (["--api", "Produce"], {"Produce"}),
        (["--api", "produce,FETCH"], {"Produce", "Fetch"}),
        (["--api", "0", "--api", "Heartbeat"], {"Produce", "Heartbeat"}),
        (["--api", "DescribeAcls"], set()),
    ],
)
def test_exchanges_are_chosen_by_api(arguments: list[str], expected: set[str]) -> None:
    """Names in any case, keys, lists and repetition all work."""
    assert expected == apis(GROUP, *arguments)


@pytest.mark.parametrize("pattern", ["order-writer", "*-writer", "127.0.0.1:37112"])
def test_exchanges_are_chosen_by_client(pattern: str) -> None:
    """A client is known by its id, by its address, or by a pattern of either."""
    found = exchanges(GROUP, "--client", pattern)

    assert {each["client_id"] for each in found} == {"order-writer"}
    assert "Produce" in {each["api"] for each in found}


def test_exchanges_are_chosen_by_topic_even_where_only_its_id_is_told() -> None:
    """A Produce of version 13 carries ids; their name comes from Metadata."""
    found = exchanges(TRANSACTION, "-t", "pay*", "--api", "Produce")

    assert len(found) == 2
    assert {each["version"] for each in found} == {13}
    assert {name for each in found for name in each["topic_names"].values()} == {"payments"}
    assert exchanges(TRANSACTION, "--topic", "nothing") == []


def test_exchanges_are_chosen_by_group() -> None:
    """Coordinators, members and offsets of a group belong to it."""
    found = apis(GROUP, "--group", "billing")

    assert {"FindCoordinator", "JoinGroup", "SyncGroup", "OffsetCommit", "LeaveGroup"} <= found
    assert not found & {"Produce", "Fetch", "Metadata"}
    assert exchanges(GROUP, "-g", "bill") == []


def test_exchanges_are_chosen_by_connection() -> None:
    """The number holds for one run, the id for all."""
    by_number = exchanges(GROUP, "--connection", "2")
    by_id = exchanges(GROUP, "--connection", by_number[0]["connection_id"])

    assert by_number == by_id
    assert {each["connection"] for each in by_number} == {2}
    both = exchanges(GROUP, "--connection", "2", "--connection", "1")
    assert {each["connection"] for each in both} == {1, 2}


@pytest.mark.thorough
def test_only_what_went_wrong_is_shown_when_asked() -> None:
    """Kafka errors by name; a request is no fault whose client closed before the answer."""
    found = exchanges(GROUP, "--errors")

    assert [each["error"] for each in found] == [
        "COORDINATOR_NOT_AVAILABLE",
        "COORDINATOR_LOAD_IN_PROGRESS",
        "MEMBER_ID_REQUIRED",
    ]
    (unanswered,) = exchanges(GROUP, "--status", "unanswered")
    assert unanswered["unanswered_reason"] == "client_closed"
    assert exchanges(ACKS, "--errors") == []


@pytest.mark.parametrize("text", ["300ms", "0.3s", "300000us"])
def test_only_what_was_slow_is_shown_when_asked(text: str) -> None:
    """What has no response and what is unanswered have no latency."""
    found = exchanges(GROUP, "--min-latency", text, "--with-waits")

    assert found
    assert all(each["latency_us"] >= 300_000 for each in found)
    assert len(found) < len(exchanges(GROUP))


@pytest.mark.thorough
@for_each(
    ("options", "numbers"),
    [
        (("--error", "member_id_required"), [18]),
        (("--status", "unanswered"), [32]),
        (("--since", "+3.05s", "--until", "+3.0505s"), [18]),
        (("--broker", "127.0.0.2"), []),
        (("--broker", "127.0.0.1:9092", "--where", "error LIKE 'COORD%'"), [9, 17]),
    ],
)
def test_exchanges_are_chosen_by_time_outcome_and_condition(
    options: tuple[str, ...], numbers: list[int]
) -> None:
    """All conditions must hold."""
    assert [each["number"] for each in exchanges(GROUP, *options)] == numbers


def test_a_fetch_that_waits_as_long_as_it_may_is_not_slow() -> None:
    """Its wait counts only when it is asked for."""
    slow = exchanges(GROUP, "--min-latency", "300ms")
    waiting = exchanges(GROUP, "--min-latency", "300ms", "--with-waits")

    assert "Fetch" in {each["api"] for each in waiting}
    assert "Fetch" not in {each["api"] for each in slow}
    assert {each["number"] for each in slow} < {each["number"] for each in waiting}


def test_conditions_of_different_kinds_must_all_hold() -> None:
    """Filters narrow each other down."""
    found = exchanges(GROUP, "--api", "JoinGroup", "--errors", "--client", "order-reader")

    assert [each["error"] for each in found] == [
        "COORDINATOR_LOAD_IN_PROGRESS",
        "MEMBER_ID_REQUIRED",
    ]


def test_sorting_orders_by_the_first_byte() -> None:
    """Otherwise exchanges come when they are complete."""
    numbers = [each["number"] for each in exchanges(GROUP)]

    assert numbers != sorted(numbers)
    assert [each["number"] for each in exchanges(GROUP, "--sort")] == sorted(numbers)


def test_json_lines_hold_kafkas_bodies_and_the_contracts_keys() -> None:
    """Scripts rely on these names."""
    found = exchanges(GROUP, "--api", "Produce")[0]

    assert list(found) == [
        "schema",
        "kind",
        "number",
        "time",
        "connection",
        "connection_id",
        "client",
        "broker",
        "client_id",
        "api_key",
        "api",
        "version",
        "correlation_id",
        "status",
        "latency_us",
        "error",
        "transfer_us",
        "end_time",
        "topic_names",
        "request",
        "response",
    ]
    assert list(found["request"]) == ["status", "frame", "body"]
    assert list(found["request"]["frame"]) == [
        "bytes",
        "segments",
        "first_packet",
        "last_packet",
        "starts_in_segment_with",
        "gap_bytes",
    ]
    batch = found["request"]["body"]["topicData"][0]["partitionData"][0]["records"][0]
    assert batch["crcOk"] is True
    assert batch["compression"] == "lz4"
    assert "records" not in batch


def test_values_are_shown_when_asked() -> None:
    """Records have text where it is UTF-8, and their headers."""
    found = exchanges(GROUP, "--api", "Produce", "--values")
    batches = [
        batch
        for each in found
        for topic in each["request"]["body"]["topicData"]
        for partition in topic["partitionData"]
        for batch in partition["records"]
    ]

    assert sum(batch["recordCount"] for batch in batches) == 30
    assert sum(len(batch["records"]) for batch in batches) == 30
    assert set(batches[0]["records"][0]) >= {"offset", "timestamp", "key", "value", "headers"}


def test_raw_bodies_are_kafkas_exact_json() -> None:
    """Records and embedded protocols stay bytes in base64."""
    produce = exchanges(GROUP, "--api", "Produce", "--raw")[0]
    join = exchanges(GROUP, "--api", "JoinGroup", "--raw")[0]

    records = produce["request"]["body"]["topicData"][0]["partitionData"][0]["records"]
    assert b64decode(records, validate=True)[16] == 2  # the magic
    metadata = join["request"]["body"]["protocols"][0]["metadata"]
    assert b"orders" in b64decode(metadata, validate=True)
    plain = exchanges(GROUP, "--api", "JoinGroup")[0]
    assert plain["request"]["body"]["protocols"][0]["metadata"]["topics"] == ["orders"]


def test_a_json_document_holds_the_same_as_the_lines() -> None:
    """Exchanges, connections and gaps each have their list."""
    document = json.loads(kdiag("decode", "-o", "json", GROUP).out)

    lists = {"exchanges", "connections", "gaps", "not_understood"}
    assert set(document) == {"schema", "capture", *lists}
    assert document["capture"]["passed_over"] == 0
    assert document["exchanges"] == exchanges(GROUP)
    assert {each["protocol"] for each in document["connections"]} == {"kafka"}
    assert document["gaps"] == []


def test_csv_has_the_plain_keys_as_columns() -> None:
    """Spreadsheets get a header and a row for each exchange."""
    rows = list(csv.DictReader(io.StringIO(kdiag("decode", "-o", "csv", GROUP).out)))
    documents = exchanges(GROUP)

    assert [row["number"] for row in rows] == [str(each["number"]) for each in documents]
    assert rows[0]["time"] == documents[0]["time"]
    more = {"topics", "groups", "request_bytes", "response_bytes"}
    assert set(rows[0]) == set(documents[0]) - {"topic_names", "request", "response"} | more
    assert ("orders", "billing") in {(row["topics"], row["groups"]) for row in rows}


def test_a_summary_counts_what_the_lines_list() -> None:
    """The document has the keys of the contract."""
    document = json.loads(kdiag("decode", "--summary", "-o", "json", GROUP).out)
    listed = exchanges(GROUP)

    assert document["schema"] == 1
    assert document["exchanges"] == len(listed)
    assert sum(document["requests"].values()) == len(listed)
    assert document["requests"]["Produce v10"] == 3
    assert document["status"] == {"unanswered": 1, "ok": len(listed) - 1}
    assert document["gaps"] == {"count": 0, "bytes": 0}
    assert document["topics"]["orders"] > 0
    assert {"packets", "bytes", "connections", "responses", "duplicates", "clients"} < set(document)
    assert document["duration_s"] > 0
    assert document["warnings"] == []


def test_a_summary_as_text_names_apis_errors_and_clients() -> None:
    """What is most frequent comes first."""
    code, out, _ = kdiag("decode", "--summary", GROUP)

    assert code == 0
    assert re.match(r"[\d,]+ packets, 14 kB|[\d,]+ packets", out)
    for word in ("REQUESTS", "Produce v10", "MEMBER_ID_REQUIRED", "order-reader", "orders"):
        assert word in out


def refused_connects(folder: Path) -> Path:
    """Return a capture of three SYNs that were answered with RST."""
    path, packets = folder / "refused.pcap", []
    for port in range(3):
        ends = Ether() / IP(src="10.0.0.1", dst="10.0.0.2")
        packets.append(ends / TCP(sport=5000 + port, dport=9092, flags="S", seq=1))
        back = Ether() / IP(src="10.0.0.2", dst="10.0.0.1")
        packets.append(back / TCP(sport=9092, dport=5000 + port, flags="RA", ack=2))
    wrpcap(str(path), packets)
    return path


@pytest.mark.thorough
def test_refused_connects_are_findings_and_errors(tmp_path: Path) -> None:
    """With the remedy; as one line of errors, and as a document for each."""
    file = refused_connects(tmp_path)
    title = "nothing listens on 10.0.0.2:9092 (3 times, "
    assert f"error KD1101: {title}" in kdiag("decode", "--summary", file).out
    (finding,) = json.loads(kdiag("decode", "--summary", "-o", "json", file).out)["findings"]
    assert finding["title"].startswith(title)
    (line,) = kdiag("decode", "--errors", file).out.splitlines()
    assert line.startswith("3 connections to 10.0.0.2:9092 ")
    assert line.endswith(": refused: a RST answered the SYN, so nothing listens there")
    documents = map(json.loads, kdiag("decode", "--errors", "-o", "jsonl", file).out.splitlines())
    assert [each["close_reason"] for each in documents] == ["refused"] * 3


def test_a_summary_counts_only_what_was_chosen() -> None:
    """Filters hold for counting as for listing."""
    arguments = ["decode", "--summary", "-o", "json", "--api", "Produce", GROUP]

    assert json.loads(kdiag(*arguments).out)["responses"] == {"Produce v10": 3}


def test_one_exchange_is_shown_in_full() -> None:
    """As a tree with the way of its frames, or as the document of its line."""
    code, out, _ = kdiag("decode", GROUP, "--show", 4)

    assert code == 0
    assert out.startswith("exchange 4  2026-11-21T13:45:37.775210000Z\n")
    assert "Produce v10" in out
    assert re.search(r"request  \d+ bytes in 1 segment", out)
    assert 'name "orders"' in out
    document = json.loads(kdiag("decode", GROUP, "--show", 4, "-o", "json").out)
    assert document == next(each for each in exchanges(GROUP) if each["number"] == 4)


@pytest.mark.thorough
def test_the_records_of_one_exchange_are_shown_when_asked() -> None:
    """Without values a batch is told by its header."""
    without = kdiag("decode", GROUP, "--show", 4).out
    values = kdiag("decode", GROUP, "--show", 4, "--values").out

    assert "recordCount 9" in without
    assert "headers" not in without
    assert "headers" in values


def test_one_exchange_is_explained_byte_by_byte() -> None:
    """Each byte of both frames has its place, one after the other."""
    document = json.loads(kdiag("decode", GROUP, "--explain", 2, "-o", "json").out)
    shown = next(each for each in exchanges(GROUP) if each["number"] == 2)

    assert document["kind"] == "explanation"
    for side in ("request", "response"):
        spans = [span for span in document[side] if span["offset"] >= 0]
        position = 0
        for span in spans:
            assert span["offset"] == position
            position += span["length"]
        assert position == shown[side]["frame"]["bytes"]


def test_an_explanation_as_text_names_offset_path_and_value() -> None:
    """Numbers that count or measure say so."""
    code, out, _ = kdiag("decode", ACKS, "--explain", 13)

    assert code == 0
    assert re.search(r'7 +6 +responses\[0\]\.name +"orders"', out)
    assert re.search(r"5 +1 +02 +responses +count 1", out)


@pytest.mark.parametrize("option", ["--show", "--explain"])
def test_an_exchange_that_is_not_there_is_wrong_usage(option: str) -> None:
    """How many there are is told."""
    assert kdiag("decode", ACKS, option, 99) == Done(
        2, "", "kdiag: there is no exchange 99: the capture has 24 exchanges\n"
    )


@pytest.mark.parametrize("option", ["--show", "--explain"])
def test_an_exchange_that_filters_leave_out_is_said_to_be_left_out(option: str) -> None:
    """It is there, but not among those that were chosen."""
    assert kdiag("decode", ACKS, option, 13, "--api", "Fetch") == Done(
        2, "", "kdiag: exchange 13 is not one of those that the options choose\n"
    )


@pytest.mark.thorough
def test_secrets_are_shown_only_when_asked() -> None:
    """A token of SASL PLAIN holds the password."""
    arguments = ["decode", "-o", "jsonl", "--api", "SaslAuthenticate", SASL]
    hidden, shown = kdiag(*arguments).out, kdiag(*arguments, "--show-secrets").out

    assert "<redacted>" in hidden
    tokens = [json.loads(line)["request"]["body"]["authBytes"] for line in shown.splitlines()]
    assert b"\0alice\0alice-invented" in map(b64decode, tokens)
    number = str(exchanges(SASL, "--api", "SaslAuthenticate")[0]["number"])
    for option in ("--show", "--explain"):
        assert "616c6963652d696e76656e746564" not in kdiag("decode", SASL, option, number).out
        assert "alice-invented" not in kdiag("decode", SASL, option, number).out


def test_topic_ids_may_be_named_from_a_file(tmp_path: Path) -> None:
    """What the capture does not tell, the user may know."""
    found = exchanges(TRANSACTION, "--api", "Produce")[0]
    (topic_id,) = found["topic_names"]
    file = tmp_path / "ids"
    file.write_text(f"# known\n\n{'A' * 21}Q elsewhere\n{topic_id} orders\n", encoding="utf-8")

    again = exchanges(TRANSACTION, "--api", "Produce", "--topic-ids", file)[0]

    assert again["topic_names"] == {topic_id: "orders"}


@pytest.mark.thorough
@for_each(
    ("arguments", "words"),
    [
        (["--api", "Prodce"], "did you mean Produce"),
        (["--min-latency", "soon"], "'soon' is not a duration"),
        (["--port", "0"], "--port"),
        (["--port", "http"], "--port"),
        (["--decode-as", "udp:8473=vxlam"], "there are geneve, gre, gtpu, mpls, vxlan, vxlan-gpe"),
        (["--decode-as", "8473=vxlan"], "'8473=vxlan' is not udp:PORT=NAME"),
        (["--show", "0"], "--show"),
        (["--explain", "-1"], "--explain"),
        (["--show", "1", "--explain", "1"], "choose one of"),
        (["--show", "1", "--summary"], "choose one of"),
        (["--summary", "-o", "csv"], "csv lists exchanges"),
        (["-o", "yaml"], "yaml"),
        (["--topic-ids", "/nowhere/ids"], "No such file"),
        (["--max-frame", "big"], "'big' is not a size"),
        (["--max-waiting", "-"], "is not a size"),
        (["--keylog", "/nowhere/keys"], "No such file"),
        (["--write", "copy.pcap", "--show", "1"], "not with --show"),
        (["--live", "lo"], "--live"),
    ],
)
def test_wrong_usage_says_what_is_wrong(arguments: list[str], words: str) -> None:
    """The exit code is 2, nothing is on stdout, and no traceback is shown."""
    code, out, err = kdiag("decode", ACKS, *arguments)

    assert (code, out) == (2, "")
    assert words in " ".join(err.split())
    assert "Traceback" not in err


@pytest.mark.thorough
def test_tunnels_on_other_ports_are_read_where_they_are_named(tmp_path: Path) -> None:
    """Without that the account of the packets tells which port there is."""
    overlay = OUTER / UDP(sport=7, dport=8473) / VXLAN(vni=3) / Ether()
    file = tmp_path / "overlay.pcap"
    file.write_bytes(wrapped(lambda packet: overlay / packet))
    lone = kdiag("decode", "-o", "jsonl", file)

    assert "UDP port 7" in lone.err
    assert lone.out == ""
    assert len(exchanges(file, "--decode-as", "udp:8473=vxlan")) == 6


def test_something_to_read_must_be_given() -> None:
    """There is no default that could be meant."""
    code, _, err = kdiag("decode")

    assert code == 2
    assert "give captures to read" in err
