import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from enum import Enum
from types import FunctionType
from typing import Any, get_args, get_type_hints

import msgspec
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdiag.errors import ReportError
from kdiag.pcap.tcp.silence import SilenceWatch
from kdiag.pcap.tls.cipher import Tls13Cipher
from kdiag.pipeline.output.state_graph import FORMAT, decode_state, encode_state
from kdiag.pipeline.output.state_table import CLASSES, ENUMS, attribute_names
from kdiag.pipeline.rows.sightings import SIGHTINGS, read_sightings
from tiers.cases import for_each

NEVER_KEPT = {
    "Extents": "of `kdiag decode --write`",
    "FlowRules": "read when a decoder begins",
    "Lead": "of connections that are seen twice, which a stream does not look for",
    "Limits": "as rules",
    "Link": "as a lead",
    "Secrets": "emptied by who learns them",
    "SegmentBatch": "of a batch under way",
    "Sightings": "as a lead",
    "SortedBatch": "of a batch under way",
}
"""The classes that attributes may have objects of, but not between two batches of a stream."""

FORBIDDEN = (
    "__call__",
    "__del__",
    "__getattr__",
    "__getattribute__",
    "__setattr__",
    "__post_init__",
)
"""The methods that would run though nothing calls them by name."""

ACTS = ("compile", "ctypes.", "exec", "import", "open", "os.", "shutil.", "socket.", "subprocess.")
"""How the audit events begin of what nothing has reason for that reads data."""


class Witness:
    """Notes what is done while a document is read; an audit hook stays, so it can be told to rest.

    Attributes:
        is_on: whether a document is being read.
        events: what was done.
    """

    def __init__(self) -> None:
        self.is_on = False
        self.events: list[str] = []

    def notice(self, event: str, arguments: tuple[Any, ...]) -> None:
        """Note an event."""
        if self.is_on and event.startswith(ACTS):
            self.events.append(f"{event} {arguments[:2]}")


@pytest.fixture(scope="module")
def witness() -> Witness:
    """Return a witness, once all that reading takes is loaded."""
    decode_state(encode_state(np.zeros(1, np.int64)), "first")
    made = Witness()
    sys.addaudithook(made.notice)
    return made


PATHS = (
    "kdiag.pipeline.output.whole_files:write_whole",
    "kdiag.report.uri:remove_folder",
    "kdiag.lab.scenario.clients.foreign_program:ForeignProgram",
    "kdiag.net.sasl.tokens:CommandToken",
    "kdiag.clock:SystemClock.monotonic_ns",
    "subprocess:Popen",
    "os:system",
    "eval",
)
KINDS = (
    *("list", "tuple", "set", "frozenset", "dict", "deque", "str", "bytes", "bytearray", "view"),
    *("int", "file", "array", "enum", "shape", "object", "record", "struct"),
    *("call", "name", "method", "partial", "plain", "iter", "reduce"),
)
COUNT = 8
references = st.lists(st.integers(0, COUNT - 1), min_size=1, max_size=1)
leaves = (
    st.none()
    | st.integers(-2, 1 << 40)
    | st.binary(max_size=4)
    | st.sampled_from([*PATHS, *KINDS, "start", "append", "<i8", "iter", "deque"])
    | st.sampled_from([each.__name__ for each in (*CLASSES, *ENUMS)])
)
wild = st.builds(
    lambda kind, rest: [kind, *rest],
    st.sampled_from(KINDS),
    st.lists(references | leaves, max_size=5),
)


@st.composite
def shaped(draw: st.DrawFn) -> list[list[Any]]:
    """Return an object of a class of the table, with any attributes, and its shape."""
    cls = draw(st.sampled_from(CLASSES))
    names = list(attribute_names(cls))
    kind = "record" if issubclass(cls, tuple) else "object"
    kind = "struct" if issubclass(cls, msgspec.Struct) else kind
    values = [draw(references | leaves) for _ in names]
    return [[kind, 1, *values], ["shape", cls.__name__, *names]]


documents = st.builds(
    lambda first, rest: [*first, *rest],
    shaped() | st.just([]),
    st.lists(wild, min_size=COUNT, max_size=COUNT),
)


def parts_of(value: Any, seen: set[int]) -> Iterator[Any]:
    """Yield a value and everything in it, once."""
    if id(value) in seen:
        return
    seen.add(id(value))
    yield value
    inside: Any = ()
    if isinstance(value, dict):
        inside = [*value, *value.values()]
    elif isinstance(value, list | tuple | set | frozenset):
        inside = value
    elif type(value) in CLASSES:
        inside = [getattr(value, name) for name in attribute_names(type(value))]
    for each in inside:
        yield from parts_of(each, seen)


@pytest.mark.thorough
@settings(max_examples=300)
@given(documents)
def test_no_document_does_anything_but_make_data(witness: Witness, nodes: list[list[Any]]) -> None:
    """It ends in values, of which none can be called, or in an error that names the file."""
    data = msgspec.msgpack.encode({"format": FORMAT, "kdiag": "0", "nodes": [[0], *nodes]})
    found: list[Any] = []
    witness.is_on = True
    try:
        found = list(parts_of(decode_state(data, "part-0"), set()))
    except ReportError as error:
        assert str(error).startswith("part-0: ")  # noqa: PT017 - either of two ends is right
    finally:
        witness.is_on = False
    assert witness.events == []
    assert [each for each in found if callable(each)] == []


@for_each("cls", CLASSES)
def test_a_class_of_the_table_is_data(cls: type) -> None:
    """None of its methods runs though nothing calls it."""
    own = [vars(each).get(name) for each in cls.__mro__ for name in FORBIDDEN]
    assert not any(isinstance(each, FunctionType) for each in own)
    assert cls.__module__.startswith("kdiag.")


def test_names_in_a_state_stand_for_one_class() -> None:
    """A shape has the name of a class alone."""
    names = [each.__name__ for each in (*CLASSES, *ENUMS)]
    assert sorted(names) == sorted(set(names))


def test_attributes_are_those_that_a_constructor_sets() -> None:
    """Those of a class above it too; no method or property is one of them."""
    names = ("limit_ns", "has_one_clock", "_ended", "_packets", "_least_ns", "_passed_ns")
    assert attribute_names(SilenceWatch) == (*names, "_next_ns")
    assert attribute_names(Tls13Cipher) == ("_mode", "_key", "overhead_bytes", "_nonce")


def named_in(cls: type) -> Iterator[type]:
    """Yield the classes of kdiag that the attributes of a class may have objects of."""
    if issubclass(cls, tuple | msgspec.Struct):
        waiting = list(get_type_hints(cls).values())
        while waiting:
            hint = waiting.pop()
            waiting += get_args(hint)
            if isinstance(hint, type):
                yield hint
        return
    tree = ast.parse(textwrap.dedent(inspect.getsource(vars(cls).get("__init__", len))))
    known = vars(sys.modules[cls.__module__])
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(known.get(node.id), type):
            yield known[node.id]


def test_what_an_object_of_the_table_may_hold_is_in_the_table() -> None:
    """By the annotations of attributes, and what constructors make; else a stream would stop."""
    lacking = {
        f"{cls.__name__}: {each.__name__}"
        for cls in CLASSES
        if issubclass(cls, tuple | msgspec.Struct) or "__init__" in vars(cls)
        for each in named_in(cls)
        if each.__module__.startswith("kdiag.")
        and not getattr(each, "_is_protocol", False)
        and not (issubclass(each, Enum) and each in ENUMS)
        and each not in CLASSES
        and each.__name__ not in NEVER_KEPT
    }
    assert lacking == set()


@pytest.mark.parametrize("kind", ["", None, "recoded ", "ForeignProgram", "SoftwareSeen"])
def test_a_sighting_that_somebody_made_is_refused(kind: str | None) -> None:
    """Of a kind that is none, or of one that has other fields."""
    state = msgspec.msgpack.encode({"format": FORMAT, "nodes": [[0], ["list"]]})
    row = [pa.array([kind], pa.string()), pa.array([state], pa.binary())]
    batch = pa.RecordBatch.from_arrays(row, schema=SIGHTINGS)
    with pytest.raises(ReportError, match=r"^groups-all: is damaged"):
        list(read_sightings([batch]))
