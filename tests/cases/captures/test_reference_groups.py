"""Groups, members and errors of the recorded captures, as the recording told them."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange
from kdiag.pcap.decoder import decode_capture
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.schema import Struct

FOLDER = Path(os.environ.get("KDIAG_REFERENCE", "")) / "captures"
TRUTHS = sorted(FOLDER.glob("*.json")) if "KDIAG_REFERENCE" in os.environ else []
UNREADABLE = (
    "tls",
    "mtls",
    "sasl_ssl",
    "plaintext_to_tls",
    "midstream",
    "snaplen",
    "capture_drops",
)
LISTED_GROUP = "topic, group (recording script)"

pytestmark = pytest.mark.skipif(not TRUTHS, reason="KDIAG_REFERENCE is not set")


def members_of(truth: dict[str, Any]) -> set[str]:
    """Return the member ids that clients printed."""
    return {event["member_id"] for event in truth["timeline"] if event.get("member_id")}


def errors_of(truth: dict[str, Any]) -> set[str]:
    """Return the errors that the description of a recording names."""
    words = set(re.findall(r"[A-Z]+(?:_[A-Z]+)+", truth["what"]))
    words = {"NOT_LEADER_OR_FOLLOWER" if each == "NOT_LEADER" else each for each in words}
    return words & CODE_BY_NAME.keys()


def truths(has: Callable[[dict[str, Any]], object]) -> list[Any]:
    """Return what is known of the captures that can be read whole and have something."""
    paths = [path for path in TRUTHS if not path.stem.startswith(UNREADABLE)]
    known = {path.stem: json.loads(path.read_text()) for path in paths}
    return [pytest.param(truth, id=name) for name, truth in known.items() if has(truth)]


def dissections_of(truth: dict[str, Any]) -> list[Dissection]:
    """Return the exchanges of a capture."""
    files = [FOLDER / each["name"] for each in truth["files"]]
    return [Dissection(item) for item in decode_capture(files) if isinstance(item, Exchange)]


def texts_in(value: object) -> set[str]:
    """Return every string inside a message."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, list):
        return {text for each in value for text in texts_in(each)}
    if isinstance(value, Struct):
        return texts_in([getattr(value, each.name) for each in msgspec.structs.fields(value)])
    return set()


@pytest.mark.sampled(20)
@pytest.mark.thorough
@pytest.mark.parametrize("truth", truths(members_of))
def test_groups_and_members_are_those_that_the_clients_told(truth: dict[str, Any]) -> None:
    """The group of the recording and each member id that a client printed are in the messages."""
    group = truth["facts"].get(LISTED_GROUP, {}).get("group")
    dissections = dissections_of(truth)
    messages = [side.message for each in dissections for side in each.sides]

    assert members_of(truth) <= texts_in(messages)
    if group is not None:
        assert group in set().union(*(each.groups for each in dissections))


@pytest.mark.thorough
@pytest.mark.parametrize("truth", truths(errors_of))
def test_the_errors_that_a_capture_was_recorded_for_are_named(truth: dict[str, Any]) -> None:
    """Each error that the recording's description names is the error of some exchange."""
    assert errors_of(truth) <= {each.error for each in dissections_of(truth)}
