"""Captures cut in the middle, and with packets lost, against what they hold uncut."""

import gzip
import json
import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folders import CAPTURES, ORACLE
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.body import BodyForm
from kdiag.exchange.documents.byte_view import view_side
from kdiag.exchange.documents.document import DocumentEncoder, Documents
from kdiag.exchange.line.line_writer import LineWriter
from kdiag.exchange.model import Connection, Exchange, Status
from kdiag.exchange.summary.counts import Summary
from kdiag.pcap.decoder import CaptureDecoder
from kdiag.pcap.packets.index import SegmentBatch
from kdiag.pcap.reader import CaptureReader
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.frame import Frame
from recordings.segment_tape import Numbered
from tiers.sampling import IS_EXHAUSTIVE, sample

SHIPPED = sorted(CAPTURES.glob("*.pcap"))
REFERENCE = sorted(Path(os.environ.get("KDIAG_REFERENCE", "/nowhere"), "captures").glob("*.pcap"))
LARGEST_BYTES = 3_000_000
SEEDS = range(4)
SEEDS_OF_RECORDED = SEEDS if IS_EXHAUSTIVE else SEEDS[:2]

Answer = tuple[int, int | None]
"""What a response is known by: the packet with its first byte, and its correlation id."""
Kind = tuple[int | None, int | None]
Keep = Callable[[SegmentBatch, random.Random], np.ndarray[tuple[int], np.dtype[np.bool_]]]


def batches_of(path: Path) -> list[SegmentBatch]:
    """Return the segments of a capture, their bytes copied."""
    return [
        batch._replace(data=bytes(batch.data), **_columns(batch, slice(None)))
        for batch in CaptureReader([path]).read_segments()
    ]


def exchanges_of(batches: Sequence[SegmentBatch]) -> list[Exchange]:
    """Return what segments decode to."""
    decoder = CaptureDecoder(Numbered())
    items = [item for batch in batches for item in decoder.feed(batch)] + decoder.finish()
    return [item for item in items if isinstance(item, Exchange)]


def answers_of(exchanges: Sequence[Exchange]) -> dict[Answer, Kind]:
    """Return what each response with a request answers."""
    return {
        (each.response.first_packet, each.correlation_id): (each.api_key, each.version)
        for each in exchanges
        if each.response is not None and each.request is not None
    }


def thinned(batches: Sequence[SegmentBatch], keep: Keep, dice: random.Random) -> list[SegmentBatch]:
    """Return the segments that are kept."""
    return [batch._replace(**_columns(batch, keep(batch, dice))) for batch in batches]


def _columns(batch: SegmentBatch, rows: Any) -> dict[str, Any]:
    """Return copies of the columns that a batch has, without the rows that are not kept."""
    columns = {name: getattr(batch, name) for name in batch._fields if name != "data"}
    return {name: column[rows].copy() for name, column in columns.items() if column is not None}


def late(batch: SegmentBatch, dice: random.Random) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Keep what comes after some packet."""
    return np.asarray(batch.packet > dice.choice(batch.packet.tolist()[::2]), np.bool_)


def lossy(batch: SegmentBatch, dice: random.Random) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Keep all but two in a hundred."""
    return np.array([dice.random() > 0.02 for _ in range(len(batch.packet))], np.bool_)


def guesses(path: Path, keep: Keep, seeds: Iterable[int] = SEEDS) -> Counter[str]:
    """Count what became of the responses whose requests were taken out of a capture."""
    batches = batches_of(path)
    truth = answers_of(exchanges_of(batches))
    found: Counter[str] = Counter()
    for seed in seeds:
        left = thinned(batches, keep, random.Random(f"{path.name} {seed}"))
        for each in exchanges_of(left):
            assert not each.guessed or each.pairing is Status.UNMATCHED
            if each.pairing is not Status.UNMATCHED or each.response is None:
                continue
            told = truth.get((each.response.first_packet, each.correlation_id))
            if told is None:
                continue  # its request is in no capture
            low, high = each.guessed_versions or (each.version, each.version)
            is_right = each.api_key == told[0] and (low or 0) <= (told[1] or 0) <= (high or 0)
            found["unknown" if not each.guessed else "right" if is_right else "wrong"] += 1
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("keep", [late, lossy])
def test_responses_in_the_captures_that_ship_are_what_their_lost_requests_asked(keep: Keep) -> None:
    """Some are told, and hardly one is taken for its like."""
    found = sum((guesses(path, keep) for path in SHIPPED), Counter[str]())

    assert found["wrong"] * 20 <= found["right"]
    assert found["right"] > 0


@pytest.mark.sampled(1)
@pytest.mark.thorough
@pytest.mark.parametrize("keep", [late, lossy])
@pytest.mark.skipif(not REFERENCE, reason="KDIAG_REFERENCE is not set")
def test_responses_in_the_recorded_captures_are_what_their_lost_requests_asked(keep: Keep) -> None:
    """Of all clients: one in fifty may be taken for its like, most are told."""
    paths = [path for path in REFERENCE if path.stat().st_size < LARGEST_BYTES]
    found = sum((guesses(path, keep, SEEDS_OF_RECORDED) for path in paths), Counter[str]())

    assert found["wrong"] * 50 <= found["right"]
    assert found["right"] > found["unknown"] * 2


@pytest.mark.thorough
@pytest.mark.skipif(not REFERENCE, reason="KDIAG_REFERENCE is not set")
@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        # What the clients' own logs tell: consumers wait in a fetch when the recording begins.
        ("midstream_java_confluent", {"Fetch v18": 1}),
        ("coordinator_move_java", {"Fetch v18": 6}),
        ("rolling_restart_java", {"Fetch v18": 6}),
    ],
)
def test_lone_responses_of_the_recordings_are_named(name: str, kinds: dict[str, int]) -> None:
    """The first responses of connections that were open before."""
    (path,) = (each for each in REFERENCE if each.stem == name)
    found = [each for each in exchanges_of(batches_of(path)) if each.pairing is Status.UNMATCHED]

    assert all(each.guessed and each.api_key is not None for each in found)
    names = (API_BY_KEY[each.api_key].name for each in found if each.api_key is not None)
    told = [f"{api} v{each.version}" for api, each in zip(names, found, strict=True)]
    assert Counter(told) == kinds


@pytest.mark.thorough
def test_every_response_can_be_shown_without_its_request() -> None:
    """As a document, as a line, counted and byte by byte."""
    names = TopicNames()
    documents, line_writer = Documents(names, BodyForm(values=True)), LineWriter(names)
    summary, encode = Summary(names), DocumentEncoder().encode
    connection = Connection(number=1, connection_id="", client="", broker="", first_ns=0, last_ns=0)
    count = 0
    for path in sorted(ORACLE.glob("vectors-*.jsonl.gz")):
        with gzip.open(path, "rt", encoding="utf-8") as file:
            vectors = [json.loads(line) for line in file]
        responses = [vector for vector in vectors if vector["kind"] == "response"]
        for vector in sample(path.name, responses, 200):
            api_key, version = vector["api_key"], vector["version"]
            tags = b"\0" * API_BY_KEY[api_key].response_header_version(version)
            data = bytes(4) + tags + bytes.fromhex(vector["hex"])
            dissection = Dissection(
                Exchange(
                    number=1,
                    connection=connection,
                    api_key=api_key,
                    version=version,
                    correlation_id=0,
                    client_id=None,
                    request=None,
                    response=Frame(data, len(data), 0, 0),
                    pairing=Status.UNMATCHED,
                    guessed=True,
                )
            )
            assert dissection.response is not None
            names.learn(dissection)
            encode(documents.exchange(dissection))
            line_writer.line_of(dissection)
            summary.add(dissection)
            assert view_side(dissection, dissection.response, is_response=True)
            count += 1
    assert summary.exchanges == count > 500
