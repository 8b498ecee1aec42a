"""A state in a file that no reader executes: a graph of objects of a closed table, in msgpack.

    format   2
    kdiag    the release that wrote it
    nodes    [kind, ...] for each object; [index] refers to one, and the first element to the root

    list set tuple frozenset   their items       shape    a class, by its name, and names
    dict                       keys and values   object   the index of its shape, attributes
    deque                      length, items     record   likewise, the fields of a named tuple
    str bytes bytearray view   themselves        struct   likewise, those of a msgspec struct
    int                        its digits        enum     a class, by its name, and the value
    file                       bytes, position   array    of numpy: its type, its shape, its bytes

Numbers, short texts and bytes stand where they are used; everything else is a node, so that what
two objects share is shared again. Nothing in it names code: an object is made without its
constructor, of a class in `state_table` alone, and gets the attributes that the constructor would
set, no more and no less. So no function, method or class comes out of a file, and none of an
object's own methods runs while it is read. A state is at most some ten times as large in memory as
in its file, whatever is in it.
"""

import io
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import cache
from operator import attrgetter
from typing import Any, Final, NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

import kdiag
from kdiag.errors import ReportError

FORMAT: Final = 2
_LEAST_SHARED_BYTES: Final = 32
_HEAVIEST: Final = 1 << 20
_LARGEST_INT: Final = (1 << 63) - 1
_PLAIN: Final = (type(None), bool, float)
_SEQUENCES: Final = {list: "list", tuple: "tuple", set: "set", frozenset: "frozenset"}
_ARRAY_TYPE: Final = re.compile("[|<>][biu][1248]")
"""Booleans and whole numbers."""

_EARLIER: Final = {1: "a snapshot of kdiag 0.1.0"}
"""The releases that wrote each earlier format, which does not say so itself."""

_DAMAGED: Final = (
    AttributeError,
    LookupError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
)
_Node = list[Any]


class _Graph(msgspec.Struct):
    format: int
    nodes: list[Any]
    kdiag: str = ""


def encode_state(value: Any) -> bytes:
    """Return a state as bytes.

    Raises:
        TypeError: if it holds an object of a class that is not in the table.
    """
    encoder = _Encoder()
    root = encoder.put(value)
    return msgspec.msgpack.encode(_Graph(FORMAT, [root, *encoder.nodes], kdiag.__version__))


def decode_state(data: bytes, where: str) -> Any:
    """Return the state in bytes.

    Args:
        data: what `encode_state` has returned.
        where: the file, for errors.

    Raises:
        ReportError: if they are no state, or one of another format.
    """
    try:
        graph = msgspec.msgpack.decode(data, type=_Graph)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ReportError(where, f"is no state of a stream: {error}; begin another one") from error
    if graph.format != FORMAT:
        raise ReportError(where, why_refused(graph.format, graph.kdiag))
    try:
        root, *nodes = graph.nodes
        return _Decoder(nodes).value(root)
    except _DAMAGED as error:
        raise ReportError(where, f"is damaged, or of another release: {error}") from error


def why_refused(found: int, release: str) -> str:
    """Return why a state of another format is not read, and what to do.

    Args:
        found: its format.
        release: that wrote it, if it says so.
    """
    writer = f"kdiag {release}" if release else _EARLIER.get(found, "another release")
    why = f"has format {found}, which {writer} wrote; kdiag {kdiag.__version__} reads {FORMAT}"
    return f"{why}: close the stream with that release, and begin another with its own checkpoint"


class _Encoder:
    """Makes nodes of objects."""

    def __init__(self) -> None:
        self.nodes: list[_Node] = []
        self._table = _table()
        self._indexes: dict[Any, int] = {}
        self._kept: list[Any] = []  # so that no id is given twice

    def put(self, value: Any) -> Any:
        """Return what stands for a value: itself, or a reference."""
        kind = type(value)
        if (
            kind in _PLAIN
            or (kind is int and abs(value) <= _LARGEST_INT)
            or (kind is bytes and len(value) < _LEAST_SHARED_BYTES)
        ):
            return value
        key = value if kind is str else id(value)
        index = self._indexes.get(key)
        if index is None:
            index = self._begin(key, value)
            self.nodes[index].extend(self._node(value, kind))
        return [index]

    def _begin(self, key: Any, value: Any) -> int:
        """Begin a node, and return its index: what it holds may hold it."""
        index = self._indexes[key] = len(self.nodes)
        self._kept.append(value)
        self.nodes.append([])
        return index

    def _shape(self, kind: type, names: tuple[str, ...]) -> int:
        """Return the index of a class and the names of its attributes in their order."""
        index = self._indexes.get(kind)
        if index is None:
            index = self._begin(kind, kind)
            self.nodes[index].extend(["shape", kind.__name__, *names])
        return index

    def _node(self, value: Any, kind: type) -> _Node:
        if kind in _SEQUENCES:
            return [_SEQUENCES[kind], *map(self.put, value)]
        if kind is dict:
            return ["dict", *(self.put(each) for pair in value.items() for each in pair)]
        shape = self._table.shapes.get(kind)
        if shape is not None:
            values = shape.values_of(value)
            return [shape.kind, self._shape(kind, shape.names), *map(self.put, values)]
        if kind in _SIMPLE_NODES:
            return _SIMPLE_NODES[kind](value)
        if kind is deque:
            return ["deque", value.maxlen, *map(self.put, value)]
        if isinstance(value, Enum) and self._table.enums.get(kind.__name__) is kind:
            return ["enum", kind.__name__, value.value]
        raise TypeError(f"{kind.__module__}.{kind.__qualname__} cannot be in a state")


class _Decoder:
    """Makes objects of nodes."""

    def __init__(self, nodes: list[Any]) -> None:
        self._nodes = nodes
        self._table = _table()
        self._made: dict[int, Any] = {}
        self._weights: dict[int, int] = {}
        self._known: dict[int, tuple[_StateShape, tuple[str, ...]]] = {}

    def value(self, put: Any) -> Any:
        """Return what a value or a reference stands for."""
        if type(put) is not list:
            return put
        (index,) = put
        if index not in self._made:
            made = self._make(index, self._nodes[index])
            self._made.setdefault(index, made)  # another, where it holds something that holds it
        return self._made[index]

    def _make(self, index: int, node: _Node) -> Any:
        kind, *rest = node
        if kind == "object":
            return self._object(index, *rest)
        if kind in {"list", "set", "dict", "deque"}:
            return self._filled(index, kind, rest)
        if kind in _SIMPLE:
            return _SIMPLE[kind](*rest)
        if kind == "enum":
            return self._member(*rest)
        values = [self.value(each) for each in rest]
        self._weigh(index, rest)
        if kind in {"tuple", "frozenset"}:
            return tuple(values) if kind == "tuple" else frozenset(values)
        return self._fields(kind, *values)

    def _weigh(self, index: int, items: list[Any]) -> None:
        """Note how many values a tuple or the like has, all told.

        Sixty pairs, each twice in the next, take a file of some hundred bytes, and hashing the last
        takes for ever.

        Raises:
            ValueError: if they are too many.
        """
        weight = len(items)
        for each in items:
            if type(each) is list:
                weight += self._weights.get(each[0], 0)
        if weight > _HEAVIEST:
            raise ValueError("a tuple of too many values")
        self._weights[index] = weight

    def _filled(self, index: int, kind: str, items: list[Any]) -> Any:
        made: Any
        if kind == "deque":
            most, *items = items
            made = deque(maxlen=most)
        else:
            made = {"list": list, "set": set, "dict": dict}[kind]()
        self._made[index] = made  # what it holds may hold it
        values = map(self.value, items)
        if kind in {"list", "deque"}:
            made.extend(values)
        else:
            made.update(_pairs(values) if kind == "dict" else values)
        return made

    def _shape(self, kind: str, index: int) -> tuple["_StateShape", tuple[str, ...]]:
        """Return a class, and the names in the order of its values.

        Raises:
            ValueError: if the class is not in the table or has other names.
        """
        known = self._known.get(index)
        if known is None:
            what, name, *names = self._nodes[index]
            shape = self._table.by_name.get(name)
            if what != "shape" or shape is None:
                raise ValueError(f"{name} is no class of a state")
            if sorted(names) != sorted(shape.names):
                differs = ", ".join(sorted({*names} ^ {*shape.names}, key=str))
                raise ValueError(f"{name} of this release has other attributes: {differs}")
            known = self._known[index] = shape, tuple(names)
        if known[0].kind != kind:
            raise ValueError(f"{known[0].cls.__name__} is not of kind {kind}")
        return known

    def _object(self, index: int, shape_index: int, *values: Any) -> Any:
        shape, names = self._shape("object", shape_index)
        made: Any = object.__new__(shape.cls)
        self._made[index] = made  # what it holds may hold it
        for name, put in zip(names, values, strict=True):
            object.__setattr__(made, name, self.value(put))
        return made

    def _fields(self, kind: str, shape_index: int, *values: Any) -> Any:
        """Return a named tuple or a struct."""
        shape, names = self._shape(kind, shape_index)
        return shape.cls(**dict(zip(names, values, strict=True)))

    def _member(self, name: str, value: Any) -> Enum:
        """Return a member of an enum, which is not asked itself: it may look for others."""
        member: Enum = self._table.enums[name]._value2member_map_[value]
        return member


class _StateShape(NamedTuple):
    """How objects of a class are written.

    Attributes:
        cls: the class.
        kind: of their nodes.
        names: of their attributes or fields.
        values_of: returns these of one of them.
    """

    cls: type
    kind: str
    names: tuple[str, ...]
    values_of: Callable[[Any], Iterable[Any]]

    @classmethod
    def of(cls, kind: type, names: tuple[str, ...]) -> "_StateShape":
        """Return that of a class of the table."""
        if issubclass(kind, tuple):
            return cls(kind, "record", names, tuple.__iter__)
        node = "struct" if issubclass(kind, msgspec.Struct) else "object"
        return cls(kind, node, names, _values_of(kind, names))


def _values_of(kind: type, names: tuple[str, ...]) -> Callable[[Any], Iterable[Any]]:
    """Return a function that returns the attributes of an object, in their order.

    What it returns raises a TypeError for an object that has others: they would be lost.
    """
    get = attrgetter(*names) if names else None

    def values(value: Any) -> Iterable[Any]:
        own = getattr(value, "__dict__", {})
        if not own.keys() <= set_of_names:
            more = ", ".join(sorted(own.keys() - set_of_names))
            raise TypeError(f"{kind.__name__} has attributes that are set outside __init__: {more}")
        found: Any = () if get is None else get(value)
        return (found,) if len(names) == 1 else found

    set_of_names = frozenset(names)
    return values


class _KnownClasses(NamedTuple):
    """The classes of `state_table` with their shapes."""

    shapes: dict[type, _StateShape]
    by_name: dict[str, _StateShape]
    enums: dict[str, type[Enum]]


@cache
def _table() -> _KnownClasses:
    from kdiag.pipeline.output import state_table  # noqa: PLC0415 - 130 ms; few read states

    shapes = {
        each: _StateShape.of(each, state_table.attribute_names(each))
        for each in state_table.CLASSES
    }
    by_name = {kind.__name__: shape for kind, shape in shapes.items()}
    return _KnownClasses(shapes, by_name, {each.__name__: each for each in state_table.ENUMS})


def _bytes(data: Any) -> bytes:
    if type(data) is not bytes:
        raise TypeError(f"{type(data).__name__} for bytes")
    return data


def _file_node(value: io.BytesIO) -> _Node:
    return ["file", value.getvalue(), value.tell()]


def _file(data: bytes, position: int) -> io.BytesIO:
    if not 0 <= position <= len(data):
        raise ValueError(f"position {position} in {len(data)} bytes")
    made = io.BytesIO(data)
    made.seek(position)
    return made


def _array_node(value: npt.NDArray[Any]) -> _Node:
    if _ARRAY_TYPE.fullmatch(value.dtype.str) is None:
        raise TypeError(f"an array of {value.dtype} cannot be in a state")
    return ["array", value.dtype.str, list(value.shape), value.tobytes()]


def _array(kind: str, shape: list[int], data: bytes) -> npt.NDArray[Any]:
    """Return an array, which may be written to.

    Raises:
        ValueError: if it is not of plain numbers.
    """
    if _ARRAY_TYPE.fullmatch(kind) is None:  # more than that is a language of its own
        raise ValueError(f"an array of {kind}")
    return np.frombuffer(data, np.dtype(kind)).reshape(shape).copy()


_SIMPLE_NODES: Final[dict[type, Callable[[Any], _Node]]] = {
    bytes: lambda value: ["bytes", value],
    bytearray: lambda value: ["bytearray", bytes(value)],
    str: lambda value: ["str", value if value.isascii() else value.encode(errors="surrogatepass")],
    memoryview: lambda value: ["view", value.tobytes()],
    int: lambda value: ["int", str(value)],
    io.BytesIO: _file_node,
    np.ndarray: _array_node,
}
_SIMPLE: Final[dict[str, Callable[..., Any]]] = {
    "bytes": _bytes,
    "bytearray": lambda data: bytearray(_bytes(data)),
    "str": lambda data: data if type(data) is str else data.decode(errors="surrogatepass"),
    "view": lambda data: memoryview(_bytes(data)),
    "int": int,
    "file": _file,
    "array": _array,
}


def _pairs(items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield what stands one after the other, two by two."""
    each = iter(items)
    return zip(each, each, strict=True)
