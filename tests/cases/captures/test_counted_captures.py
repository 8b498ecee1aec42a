"""Every recorded capture, counted by reading each exchange and by knowing one like it."""

import os
from pathlib import Path

import pytest

from folders import CAPTURES
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Connection, Exchange, Status
from kdiag.exchange.selection import Selection
from kdiag.exchange.summary.counts import Summary, Totals
from kdiag.pcap.decoder import Item, decode_capture
from kdiag.pcap.tls.keylog import KeyLog
from kdiag_cli.captures.pipeline import ExchangePipeline

pytestmark = pytest.mark.thorough

FOLDERS = [CAPTURES]
if "KDIAG_REFERENCE" in os.environ:
    FOLDERS.append(Path(os.environ["KDIAG_REFERENCE"]) / "captures")
FILES = [file for folder in FOLDERS for file in sorted(folder.glob("*.pcap*"))]
OFTEN = 20
"""More often than it takes to be remembered."""


def items_of(file: Path) -> list[Item]:
    """Return all that a capture decodes to, with the key log beside it if there is one."""
    keys = file.with_suffix(".keylog")
    keylog = KeyLog.parse(keys.read_bytes() if keys.exists() else b"")
    return list(decode_capture([file], keylog=keylog))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_capture_counts_the_same_whether_each_exchange_is_read_or_not(file: Path) -> None:
    """As it is, with the names that it tells, and with every exchange many times over."""
    items = items_of(file)
    exchanges = [item for item in items if isinstance(item, Exchange)]
    pipeline = ExchangePipeline(TopicNames(), Selection(), None, None)
    pipeline.add(items)
    names = TopicNames()
    once, often, known = Summary(names), Summary(names), Summary(names)
    alike = 0
    for item in items:
        if isinstance(item, Connection):
            once.add_connection(item)
    for exchange in exchanges:
        dissection = Dissection(exchange)
        names.learn(dissection)
        once.add(dissection)
        for _ in range(OFTEN):
            often.add(dissection)
            if known.add_like(exchange):
                alike += 1
            else:
                known.add(dissection)

    assert pipeline.summary.document(Totals()) == once.document(Totals())
    assert known.document(Totals()) == often.document(Totals())
    is_answered = any(
        exchange.pairing is Status.OK and Dissection(exchange).status is Status.OK
        for exchange in exchanges
    )
    assert bool(alike) == is_answered
