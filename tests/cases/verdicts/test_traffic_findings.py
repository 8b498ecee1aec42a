"""What kdiag finds in the recorded captures, against how they were made; quiet ones stay quiet."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from folders import CAPTURES
from kdiag.diagnosis.traffic.traffic import Traffic
from kdiag.exchange.context.topic_names import TopicNames, may_tell_names
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange
from kdiag.exchange.summary.counts import Summary
from kdiag.pcap.decoder import decode_capture
from kdiag.pcap.tls.keylog import KeyLog
from tiers.cases import for_each
from tiers.sampling import sample

FOLDER = Path(os.environ.get("KDIAG_REFERENCE", "")) / "captures"
TRUTHS = sorted(FOLDER.glob("*.json")) if "KDIAG_REFERENCE" in os.environ else []

KNOWN = {
    "acl_admin_java": {"KD4503"},
    "acl_denied_java": {"KD4501", "KD4503"},
    "acks_0_1_all_java": {"KD4104"},
    "acks_mixed_kafkapython": {"KD4104"},
    "admin_rare_apis_java": {"KD4503"},
    "big_message_2mb_java": {"KD4103", "KD4105"},
    "errors_java": {"KD4501", "KD4503"},
    "lossy_link_queue_drops_confluent": {"KD4103"},
    "midstream_java_confluent": {"KD4101"},
    "oldjava_0_10_2_2_snappy": {"KD5101"},
    "oldjava_0_10_2_2_vs_4_3": {"KD5101"},
    "oldjava_0_9_0_1_gzip": {"KD5101"},
    "pipelined_tiny_java": {"KD4101"},
    "quota_throttled_java": {"KD4302"},
    "reb_static_java": {"KD4501"},
    "sarama_as_0_10_2": {"KD5101"},
    "sasl_wrong_password_java": {"KD4501"},
}
"""What was recorded on purpose, or is known of how it was: acks=0, one message of 2 MB, a megabyte
of repeated text without compression, one record per request, versions before KIP-896, a quota,
refused requests of clients and of administrators."""

SHIPPED = {
    "acks": {"KD4104"},
    "admin": {"KD4503"},
    "disk_full": {"KD4501"},
    "kafka_4_4": {"KD4503"},
    "old_versions": {"KD5101"},
    "sasl_plain": {"KD4501"},
}


def found_in(files: list[Path], keylog: bytes = b"") -> set[str]:
    """Return the ids of what is found, counting those alike without reading them."""
    names = TopicNames()
    traffic, summary = Traffic(names), Summary(names)
    summary.watch = traffic.add
    for item in decode_capture(files, keylog=KeyLog.parse(keylog)):
        if isinstance(item, Exchange) and (may_tell_names(item) or not summary.add_like(item)):
            dissection = Dissection(item)
            names.learn(dissection)
            summary.add(dissection)
    summary.count_fresh()
    return {each.id for each in traffic.findings()}


@pytest.mark.thorough
@for_each("capture", sorted(CAPTURES.glob("*.pcap")), ids=lambda path: path.stem)
def test_what_ships_has_the_findings_that_it_was_made_for(capture: Path) -> None:
    """And no others."""
    assert found_in([capture]) == SHIPPED.get(capture.stem, set())


def drawn() -> list[Any]:
    """Return the captures with findings, and some of those without."""
    known = [path for path in TRUTHS if path.stem in KNOWN]
    quiet = sample("quiet captures", [path for path in TRUTHS if path.stem not in KNOWN], 12)
    return [pytest.param(path, id=path.stem) for path in (*known, *quiet)]


@pytest.mark.skipif(not TRUTHS, reason="KDIAG_REFERENCE is not set")
@pytest.mark.parametrize("truth", drawn())
def test_a_recording_has_the_findings_that_it_was_made_for(truth: Path) -> None:
    """The quiet ones have none."""
    names = [each["name"] for each in json.loads(truth.read_text())["files"]]
    keylog = truth.with_suffix(".keylog")
    files = [FOLDER / name for name in names if ".pcap" in name]

    found = found_in(files, keylog.read_bytes() if keylog.exists() else b"")
    assert found == KNOWN.get(truth.stem, set())
