import itertools
import pickle
from collections import OrderedDict, defaultdict, deque
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folders import ROOT
from kdiag.errors import ReportError
from kdiag.exchange.model import Connection, Protocol
from kdiag.pcap.tcp.silence import SilencedConnection, SilenceWatch
from kdiag.pipeline.decode import FlowRules, PartDecoder, RunPart
from kdiag.pipeline.output.state_graph import FORMAT, decode_state, encode_state
from spark_runs.kept_state import KEPT_AFTER, Decoding
from tiers.cases import for_each

STATES = sorted((ROOT / "tests" / "data" / "stream_states").glob("*.state"))
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
    max_leaves=20,
)


def again(value: Any) -> Any:
    """Return what comes back."""
    return decode_state(encode_state(value), "state")


@pytest.mark.thorough
@given(VALUES)
def test_plain_values_come_back(value: Any) -> None:
    """Numbers of any size, texts of any characters."""
    assert again(value) == value


def test_objects_come_back_with_what_they_share() -> None:
    """Also where one holds itself, by whatever way."""
    connection = Connection(
        number=1, connection_id="a\udcff", client="", broker="", first_ns=0, last_ns=1
    )
    connection.protocol = Protocol.TLS
    watch = SilenceWatch(5)
    watch.remember(("a", 1), SilencedConnection("id", None))
    loop: dict[str, Any] = {"queue": deque([1, 2], maxlen=3), "of": connection}
    loop["self"] = (loop, [loop])
    found = again([loop, connection, watch, bytearray(b"abc")])

    assert found[0]["self"][0] is found[0]["self"][1][0] is found[0]
    assert found[0]["of"] is found[1]
    assert found[1] == connection
    assert (found[0]["queue"], found[0]["queue"].maxlen) == (deque([1, 2]), 3)
    assert vars(found[2]) == vars(watch)
    assert found[3] == bytearray(b"abc")


def test_what_can_be_called_comes_back() -> None:
    """Methods of what came back, too; what counts goes on counting."""
    watch, numbers = SilenceWatch(5), itertools.count(7)
    next(numbers)
    held = [watch, watch.is_over, partial(watch.is_over, 1), SilenceWatch, numbers, iter([1, 2])]
    found = again(held)

    assert found[1].__self__ is found[0]
    assert (found[1](1, 9), found[2](now_ns=3), found[3]) == (True, False, SilenceWatch)
    assert (next(found[4]), list(found[5])) == (8, [1, 2])
    made = again([defaultdict(list, a=[1]), OrderedDict(b=2), memoryview(b"view")])
    assert made == [{"a": [1]}, {"b": 2}, b"view"]
    assert made[0]["new"] == []


def test_nothing_of_others_is_kept() -> None:
    """Neither their objects nor their functions."""
    texts = np.array(["a"], np.object_)
    for value in (Path(), object(), print, lambda: None, Path("a").exists, Exception("a"), texts):
        with pytest.raises(TypeError, match=r"cannot be in a state|NoneType"):
            encode_state([value])


@for_each(
    "node",
    [
        ["name", "os:system"],
        ["name", "kdiag.clock:time.time"],
        ["name", "kdiag.nowhere:f"],
        ["shape", "subprocess:Popen", "args"],
        ["object", "subprocess:Popen", [b"ls"], None, [], []],
        ["call", "eval", [b"1"], None, [], []],
        ["method", "text", "join"],
        ["struct", ["kdiag.exchange.model:Connection"], "nonsense", 1],
        ["list", [65_535]],
        ["list", [[]]],
        ["plain", [0], [], 1],
        ["array", "|O", [1], b"12345678"],
        ["array", "<i8", [2], b"12345678"],
        ["nothing"],
        [],
        7,
    ],
)
def test_a_state_that_somebody_made_calls_nothing(node: Any) -> None:
    """It is refused with its name."""
    data = msgspec.msgpack.encode({"format": FORMAT, "nodes": [[0], node]})
    with pytest.raises(ReportError, match=r"^part-0: is damaged"):
        decode_state(data, "part-0")


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (pickle.dumps([1]), "is no state of a stream"),
        (b"", "is no state of a stream"),
        (msgspec.msgpack.encode({"format": 99, "nodes": []}), "is of format 99, and this release"),
    ],
)
def test_what_is_no_state_is_refused(data: bytes, why: str) -> None:
    """And so is one of a release to come."""
    with pytest.raises(ReportError, match=why):
        decode_state(data, "part-0")


@pytest.mark.parametrize("file", STATES, ids=lambda file: file.stem)
def test_a_state_of_each_earlier_format_goes_on_here(file: Path) -> None:
    """As if this release had decoded all of the capture."""
    whole = Decoding()
    whole.feed(0)
    expected = whole.finish()
    early = Decoding()
    early.feed(0, KEPT_AFTER)
    late = Decoding(decode_state(file.read_bytes(), str(file)))
    late.feed(KEPT_AFTER)
    found = late.finish()

    assert early.emitted["frames"]
    assert {name: [*early.emitted[name], *found[name]] for name in expected} == expected


@pytest.mark.thorough
def test_what_tcp_did_goes_on_wherever_the_state_is_cut() -> None:
    """Between any two packets of a handshake, and later: the rows are those of one process."""
    rules = FlowRules(follows_tcp=True)
    whole = Decoding(PartDecoder(RunPart(0, 1), rules))
    whole.feed(0)
    expected = whole.finish()
    assert expected["tcp"]
    for cut in (1, 2, 3, 50, KEPT_AFTER):
        early = Decoding(PartDecoder(RunPart(0, 1), rules))
        early.feed(0, cut)
        late = Decoding(again(early.decoder))
        late.feed(cut)
        found = late.finish()["tcp"]
        assert [*early.emitted["tcp"], *found] == expected["tcp"], f"cut after {cut} packets"


def test_this_format_has_a_state_that_is_kept() -> None:
    """So that the next release can be held to it."""
    assert f"format-{FORMAT}" in [file.stem for file in STATES]
