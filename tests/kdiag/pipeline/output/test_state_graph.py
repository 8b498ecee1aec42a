import io
import itertools
import pickle
from collections import deque
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from folders import ROOT
from kdiag.clock import SystemClock
from kdiag.errors import ReportError
from kdiag.exchange.model import Connection, Protocol, Status
from kdiag.exchange.tcp_facts import Vantage
from kdiag.pcap.tcp.reassembly import Moment
from kdiag.pcap.tcp.silence import SilencedConnection, SilenceWatch
from kdiag.pipeline.decode import FlowRules, PartDecoder, RunPart
from kdiag.pipeline.output.state_graph import FORMAT, decode_state, encode_state
from spark_runs.kept_state import KEPT_AFTER, Decoding
from tiers.cases import for_each

STATES = sorted((ROOT / "tests" / "data" / "stream_states").glob("*.state"))
BUDGET = ["max_bytes", "_measured_bytes", "_measured_count", "_fed_bytes", "connection_bytes"]
MOMENT = ["packet", "time_ns"]
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
    watch.remember((1, 2), SilencedConnection("id", None))
    loop: dict[str, Any] = {"queue": deque([1, 2], maxlen=3), "of": connection}
    loop["self"] = (loop, [loop])
    found = again([loop, connection, watch, bytearray(b"abc")])

    assert found[0]["self"][0] is found[0]["self"][1][0] is found[0]
    assert found[0]["of"] is found[1]
    assert found[1] == connection
    assert (found[0]["queue"], found[0]["queue"].maxlen) == (deque([1, 2]), 3)
    assert vars(found[2]) == vars(watch)
    assert found[3] == bytearray(b"abc")


def test_collections_come_back_as_what_they_are() -> None:
    """A view as a view of a copy; a buffer that is being filled is filled further."""
    buffer = io.BytesIO(b"abc")
    buffer.seek(2)
    held = [deque([1], maxlen=2), bytearray(b"ab"), memoryview(b"view"), {1}, frozenset({"a"})]
    found = again([*held, buffer, np.array([[1, 2]], np.uint32)])

    assert found[:5] == held
    assert list(map(type, found[:5])) == list(map(type, held))
    assert (found[5].getvalue(), found[5].tell()) == (b"abc", 2)
    assert found[6].tolist() == [[1, 2]]
    found[6][0, 0] = 3


def test_nothing_of_others_and_nothing_that_can_be_called_is_kept() -> None:
    """Neither their objects nor functions, methods and classes, those of kdiag as little."""
    watch = SilenceWatch(5)
    texts = np.array(["a"], np.object_)
    for value in (
        *(Path(), object(), print, lambda: None, Path("a").exists, Exception("a"), texts),
        *(watch.is_over, SilenceWatch, encode_state, partial(watch.is_over, 1)),
        *(iter([1]), itertools.count(), range(3), SystemClock(), Vantage, 1j),
    ):
        with pytest.raises(TypeError, match="cannot be in a state"):
            encode_state([value])


def test_an_attribute_that_no_constructor_sets_is_not_lost_in_silence() -> None:
    """It would not come back."""
    watch = SilenceWatch(5)
    watch.more = 1  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"SilenceWatch has attributes that .* more"):
        encode_state(watch)


def state_of(*nodes: Any) -> bytes:
    """Return a state of nodes, of which the first is the root."""
    return msgspec.msgpack.encode({"format": FORMAT, "kdiag": "0", "nodes": [[0], *nodes]})


def test_a_state_may_be_written_by_hand() -> None:
    """So that what is refused below is refused for what is wrong with it."""
    nodes = (["object", 1, 5, 0, 0, 0, 0], ["shape", "MemoryBudget", *BUDGET])
    assert decode_state(state_of(*nodes), "part-0").max_bytes == 5
    moment = decode_state(state_of(["record", 1, 2, 3], ["shape", "Moment", *MOMENT]), "part-0")
    assert moment == Moment(2, 3)
    status = decode_state(state_of(["enum", "Status", "unanswered"]), "part-0")
    assert status is Status.UNANSWERED


@for_each(
    "nodes",
    [
        [["name", "os:system"]],
        [["name", "kdiag.clock:time.time"]],
        [["call", "eval", [b"1"], None, [], []]],
        [["call", "iter", [[1], None], None, [], []], ["list", 1]],
        [["method", [1], "append"], ["list"]],
        [["partial", [1], [2], [3]], ["name", "kdiag.report.uri:remove_folder"], ["tuple"]],
        [["object", 1], ["shape", "subprocess:Popen"]],
        [["object", 1], ["shape", "kdiag.lab.security.private_file:PrivateFile"]],
        [["object", 1], ["shape", "ForeignProgram", "name", "_command", "_process"]],
        [["object", 1, 5], ["shape", "MemoryBudget", "max_bytes"]],
        [["object", 1, 5, 0, 0, 0, 0, 1], ["shape", "MemoryBudget", *BUDGET, "overdue"]],
        [["object", 1, 5, 0, 0, 0, 0, 1], ["shape", "MemoryBudget", *BUDGET, "__class__"]],
        [["object", 1, 5, 0, 0, 0], ["shape", "MemoryBudget", *BUDGET]],
        [["object", 1, 2, 3], ["shape", "Moment", *MOMENT]],
        [["record", 1, 2], ["shape", "Moment", *MOMENT]],
        [["record", 1, 5, 0, 0, 0, 0], ["shape", "MemoryBudget", *BUDGET]],
        [["struct", 1, 2, 3], ["shape", "Moment", *MOMENT]],
        [["enum", "CauseKind", "join"]],
        [["enum", "Status", "nonsense"]],
        [["enum", "Path", "/"]],
        [["object", 1], ["enum", "Status", "ok"]],
        [["shape", "Moment", *MOMENT]],
        [["list", [65_535]]],
        [["list", [[]]]],
        [["list", [1, 2]]],
        [["array", "|O", [1], b"12345678"]],
        [["array", "(1,2)i8,i8", [1], b"12345678" * 3]],
        [["array", "<i8", [2], b"12345678"]],
        [["file", b"ab", 1 << 40]],
        [["bytes", "text"]],
        [["bytearray", 1 << 40]],
        [["view", 7]],
        [["int", [1]]],
        [["dict", 1]],
        [["set", [1]], ["list"]],
        [["deque", -1]],
        [["nothing"]],
        [[]],
        [7],
    ],
)
def test_a_state_that_somebody_made_calls_nothing(nodes: Any) -> None:
    """It is refused with its name."""
    with pytest.raises(ReportError, match=r"^part-0: is damaged"):
        decode_state(state_of(*nodes), "part-0")


def test_a_small_state_takes_no_time_to_compare() -> None:
    """Sixty pairs, each twice in the next one, are more values than anybody has time for."""
    pairs = [["tuple", [each + 2], [each + 2]] for each in range(60)]
    with pytest.raises(ReportError, match="too many values"):
        decode_state(state_of(["set", [1]], *pairs, ["tuple"]), "part-0")
    few = [["tuple", [each + 2], [each + 2]] for each in range(10)]
    assert len(decode_state(state_of(["set", [1]], *few, ["tuple"]), "part-0")) == 1


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (pickle.dumps([1]), "is no state of a stream"),
        (b"", "is no state of a stream"),
        (
            msgspec.msgpack.encode({"format": 99, "nodes": []}),
            "has format 99, which another release wrote; kdiag .* reads 2",
        ),
    ],
)
def test_what_is_no_state_is_refused(data: bytes, why: str) -> None:
    """And so is one of a release to come."""
    with pytest.raises(ReportError, match=why):
        decode_state(data, "part-0")


def test_a_state_of_the_first_format_is_refused_with_its_release() -> None:
    """It names functions, which no reader may call; it is never read by half."""
    file = STATES[0]
    why = r"has format 1, which a snapshot of kdiag .* wrote; .* reads 2: close the stream with"
    with pytest.raises(ReportError, match=why):
        decode_state(file.read_bytes(), str(file))


@pytest.mark.thorough
@pytest.mark.parametrize("file", STATES[1:], ids=lambda file: file.stem)
def test_a_state_of_each_format_that_is_data_goes_on_here(file: Path) -> None:
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
