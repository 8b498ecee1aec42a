"""Captures as other recorders would have written them: packets late, one direction alone."""

from pathlib import Path
from typing import Any

import pytest

from folders import CAPTURES
from kdiag.clock import NS_PER_MS
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Connection, Exchange, Gap, Status
from kdiag.pcap.decoder import decode_capture
from kdiag.pcap.kafka.unmatched_responses import name_by_trial
from kdiag.pcap.reader import CaptureReader
from recordings.capture_writer import NANOSECONDS, Packet, savefile
from recordings.exchange_maker import make_exchange

FILES = sorted(CAPTURES.glob("*.pcap"))


def read(source: Path) -> list[tuple[Any, ...]]:
    """Return the exchanges, gaps and connections of a capture as plain values, in an order."""
    found: list[tuple[Any, ...]] = []
    for item in decode_capture([source]):
        if isinstance(item, Exchange):
            frames = (item.request, item.response)
            sizes = [
                frame and (frame.data, frame.first_byte_ns, frame.segments) for frame in frames
            ]
            kind = (item.api_key, item.version, item.correlation_id, item.client_id)
            found.append((item.number, *kind, item.pairing, item.latency_ns, *sizes))
        elif isinstance(item, Gap):
            found.append(("gap", item.direction, item.size, item.is_missing))
        else:
            counts = (item.requests, item.responses, item.duplicates, item.close_reason)
            found.append((item.connection_id, *counts))
    return sorted(found, key=repr)


def packets_of(source: Path) -> tuple[list[Packet], int]:
    """Return the packets of a capture, and its link type."""
    packets, link_type = [], 0
    for block, _ in CaptureReader([source]).read_blocks():
        link_type = int(block.link_type[0])
        columns = (block.offset, block.captured, block.original, block.time_ns)
        for start, captured, original, time_ns in zip(
            *(column.tolist() for column in columns), strict=True
        ):
            data = block.data[start : start + captured].tobytes()
            packets.append(Packet(data, time_ns, original))
    return packets, link_type


def write_late(source: Path, target: Path, late_ns: int) -> Path:
    """Write a capture as a recorder would that gets each second packet late."""
    packets, link_type = packets_of(source)
    written = sorted(
        enumerate(packets), key=lambda each: (each[1].time_ns + late_ns * (each[0] % 2), each[0])
    )
    ordered = [packet for _, packet in written]
    assert ordered != packets
    target.write_bytes(savefile(ordered, magic=NANOSECONDS, link_type=link_type))
    return target


def check_late(source: Path, folder: Path) -> None:
    """Check that a capture reads alike where each second packet is late."""
    expected = read(source)
    for late_ns in (NS_PER_MS, 10 * NS_PER_MS):
        assert read(write_late(source, folder / "late.pcap", late_ns)) == expected


def test_a_capture_with_late_packets_reads_like_the_one_in_order(tmp_path: Path) -> None:
    """Two ports of a bond, or several queues: nothing is lost, and no broker is accused."""
    check_late(CAPTURES / "acks.pcap", tmp_path)


@pytest.mark.thorough
@pytest.mark.parametrize("source", FILES, ids=lambda each: each.stem)
def test_every_capture_with_late_packets_reads_like_the_one_in_order(
    source: Path, tmp_path: Path
) -> None:
    """1 and 10 ms late."""
    check_late(source, tmp_path)


def write_responses(source: Path, target: Path) -> Path:
    """Write what brokers sent in a capture, as one direction of a mirror port has it."""
    ends = {
        (each.broker, each.client)
        for each in decode_capture([source])
        if isinstance(each, Connection)
    }
    packets, link_type = packets_of(source)
    reader = CaptureReader([source])
    text_of = reader.addresses.endpoint_text
    sent = {
        int(packet)
        for batch in reader.read_segments()
        for packet, sender, receiver in zip(
            batch.packet, batch.source, batch.destination, strict=True
        )
        if (text_of(int(sender)), text_of(int(receiver))) in ends
    }
    kept = [packet for number, packet in enumerate(packets, 1) if number in sent]
    target.write_bytes(savefile(kept, magic=NANOSECONDS, link_type=link_type))
    return target


def responses_of(source: Path) -> dict[tuple[Any, ...], Exchange]:
    """Return the exchanges of a capture with whole responses, by the responses."""
    return {
        (each.connection.client, each.response.first_byte_ns, each.response.data): each
        for each in decode_capture([source])
        if isinstance(each, Exchange) and each.response is not None and each.response.is_whole
    }


def check_responses_alone(source: Path, folder: Path) -> None:
    """Check that most responses are named without their requests, none wrongly."""
    asked = responses_of(source)
    alone = responses_of(write_responses(source, folder / "responses.pcap"))
    named = {key: each for key, each in alone.items() if each.api_key is not None}
    assert named.keys() <= asked.keys()
    for key, found in named.items():
        expected = asked[key]
        low, high = found.guessed_versions or (found.version, found.version)
        assert found.api_key == expected.api_key
        assert expected.version is not None
        assert low is not None
        assert high is not None
        assert low <= expected.version <= high
        expected_error, error = Dissection(expected).error_code, Dissection(found).error_code
        assert error in {0, expected_error}
    assert len(named) >= 0.75 * len(asked)


@pytest.mark.thorough
@pytest.mark.parametrize("source", FILES, ids=lambda each: each.stem)
def test_responses_without_any_request_are_named_where_one_api_fits(
    source: Path, tmp_path: Path
) -> None:
    """At least three of four, none wrongly; errors are those of the whole capture."""
    check_responses_alone(source, tmp_path)


def test_an_error_that_all_apis_read_that_fit_is_told() -> None:
    """A bare error may be that of many, it is an error in all of them."""
    response = bytes.fromhex("0000000700000000001b")
    exchange = make_exchange(None, response, version=None, pairing=Status.UNMATCHED)
    name_by_trial(exchange)
    assert (exchange.api_key, exchange.guessed) == (None, False)
    assert Dissection(exchange).error == "REBALANCE_IN_PROGRESS"
