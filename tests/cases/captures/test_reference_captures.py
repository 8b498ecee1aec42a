"""Every recorded capture against what its clients, its broker and its recorder said themselves."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Connection, Exchange, Gap, Protocol, Status
from kdiag.pcap.decoder import Item, decode_capture
from kdiag.pcap.tls.keylog import KeyLog
from kdiag.wire.catalog import API_BY_KEY
from recordings import wire_records

FOLDER = Path(os.environ.get("KDIAG_REFERENCE", "")) / "captures"
TRUTHS = sorted(FOLDER.glob("*.json")) if "KDIAG_REFERENCE" in os.environ else []
WITHOUT_KEYS = ("mtls_no_certificate", "tls13_java_no_keylog", "plaintext_to_tls")
LOSSY = ("capture_drops", "midstream", "snaplen")

pytestmark = pytest.mark.skipif(not TRUTHS, reason="KDIAG_REFERENCE is not set")


def files_of(truth: dict[str, Any]) -> list[Path]:
    """Return the files of a capture, rotated sets in order."""
    return [FOLDER / each["name"] for each in truth["files"] if ".pcap" in each["name"]]


def items_of(truth: dict[str, Any]) -> list[Item]:
    """Return all that a capture decodes to, with the key log beside it if there is one."""
    files = files_of(truth)
    keys = files[0].with_suffix(".keylog")
    keylog = KeyLog.parse(keys.read_bytes() if keys.exists() else b"")
    return list(decode_capture(files, keylog=keylog))


def params(*, without: tuple[str, ...]) -> list[Any]:
    """Return the captures but those whose names start with some words."""
    return [
        pytest.param(json.loads(path.read_text()), id=path.stem)
        for path in TRUTHS
        if not path.stem.startswith(without)
    ]


def records_of(truth: dict[str, Any]) -> dict[str, list[wire_records.Told]]:
    """Return the records that the exchanges of a capture carry, by what clients did with them."""
    told: dict[str, list[wire_records.Told]] = {"produced": [], "consumed": []}
    for item in items_of(truth):
        if not isinstance(item, Exchange) or item.guessed:
            continue
        if item.api_key == wire_records.PRODUCE:
            told["produced"] += wire_records.produced(item)
        elif (
            item.api_key in (wire_records.FETCH, wire_records.SHARE_FETCH)
            and item.response is not None
            and item.response.is_whole
        ):
            told["consumed"] += wire_records.consumed(item)
    return told


@pytest.mark.sampled(35)
@pytest.mark.thorough
@pytest.mark.parametrize("truth", params(without=WITHOUT_KEYS + LOSSY))
def test_the_records_on_the_wire_are_those_that_the_clients_handed_over_and_got(
    truth: dict[str, Any],
) -> None:
    """The clients' own hashes of what they produced and consumed are found among the exchanges.

    A transactional producer tells of what it committed, which is what a consumer gets. Where
    members of a group fetch the same records one after the other nothing on the wire tells whose
    they became: there the numbers of records must add up.
    """
    told = records_of(truth)
    found = {event: wire_records.digests(records) for event, records in told.items()}
    if truth["name"].startswith("txn"):
        found["produced"] |= found["consumed"]
    missing = [
        event
        for event in truth["timeline"]
        if "kv_sha256" in event
        and not event.get("failed")
        and event["kv_sha256"] not in found[event["ev"]]
    ]
    consumers = [event for event in truth["timeline"] if event["ev"] == "consumed"]
    if missing and len(consumers) > 1:
        assert {event["ev"] for event in missing} == {"consumed"}
        places = {record.place for record in told["consumed"]}
        assert sum(event["records"] for event in consumers) == len(places)
    else:
        assert missing == []


@pytest.mark.sampled(35)
@pytest.mark.thorough
@pytest.mark.parametrize("truth", params(without=WITHOUT_KEYS + LOSSY))
def test_nothing_is_partial_or_unmatched_but_what_the_recording_explains(
    truth: dict[str, Any],
) -> None:
    """A response is alone only where its connection was open before; a frame is cut by its end."""
    exchanges = [item for item in items_of(truth) if isinstance(item, Exchange)]
    by_connection: dict[int, list[Exchange]] = {}
    for exchange in sorted(exchanges, key=lambda each: each.number):
        by_connection.setdefault(exchange.connection.number, []).append(exchange)
    for members in by_connection.values():
        alone = [each for each in members if each.pairing is Status.UNMATCHED]
        assert alone in ([], members[:1])
        assert all(each.request.is_whole for each in members if each.request)
        answered = [each for each in members if each.response]
        cut = [each for each in answered if each.response and not each.response.is_whole]
        assert cut in ([], answered[-1:])
        assert not cut or members[0].connection.close_reason in ("rst", "fin")


@pytest.mark.parametrize("truth", params(without=()))
def test_nothing_is_malformed(truth: dict[str, Any]) -> None:
    """Real clients and brokers write what the format allows, and loss is no contradiction of it."""
    dissections = [Dissection(item) for item in items_of(truth) if isinstance(item, Exchange)]

    assert [each.exchange.number for each in dissections if each.status is Status.MALFORMED] == []


@pytest.mark.parametrize(
    "truth", [each for each in params(without=()) if str(each.id).startswith(LOSSY)]
)
def test_lossy_captures_still_name_every_request(truth: dict[str, Any]) -> None:
    """Requests by API and version are those whose headers tshark found packet by packet."""
    found = Counter(
        f"{API_BY_KEY[item.api_key].name}({item.api_key}) v{item.version}"
        for item in items_of(truth)
        if isinstance(item, Exchange) and item.request is not None and item.api_key is not None
    )
    expected = {
        kind: count
        for kind, count in truth["tshark"]["requests"].items()
        if not kind.startswith("?")
    }

    assert found == expected


@pytest.mark.parametrize(
    "truth", [each for each in params(without=()) if str(each.id).startswith("tls13_java")]
)
def test_encryption_without_keys_is_named(truth: dict[str, Any]) -> None:
    """Connections say that they are TLS, and which version."""
    connections = [item for item in items_of(truth) if isinstance(item, Connection)]

    assert {each.protocol for each in connections} == {Protocol.TLS}
    assert all("1.3" in (each.tls_version or "") for each in connections)


@pytest.mark.parametrize(
    "truth", [each for each in params(without=()) if str(each.id).startswith("capture_drops")]
)
def test_what_the_recorder_lost_is_told(truth: dict[str, Any]) -> None:
    """Gaps add up to what the connections count, and frames around them are partial."""
    items = items_of(truth)
    gaps = [item for item in items if isinstance(item, Gap)]
    connections = [item for item in items if isinstance(item, Connection)]

    assert gaps
    missing = [gap.size for gap in gaps if gap.is_missing]
    assert sum(missing) == sum(each.gap_bytes for each in connections)
    not_understood = sum(each.not_understood_bytes for each in connections)
    assert sum(gap.size for gap in gaps if not gap.is_missing) == not_understood
