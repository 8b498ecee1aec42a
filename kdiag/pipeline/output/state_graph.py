"""A state in a file that no reader executes: a graph of kdiag's own objects in msgpack.

    format   1
    nodes    [kind, ...] for each object; [index] refers to one, and the first element to the root

    list set tuple   their items            plain      an object: its shape, arguments, attributes
    dict             keys and values        struct     its shape, the values of its fields
    shape            a class, and names     object     what is not plain: also its state and items
    str bytes        themselves             call       one of a few constructors, likewise
    name             a class or function    method     an object, and the name
    array            of numpy: its type, its shape, its bytes

Numbers, short texts and bytes stand where they are used; everything else is a node, so that what
two objects share is shared again. A reader makes objects of kdiag's classes and sets their
attributes; it calls nothing else than the constructors below. A state is at most some ten times as
large in memory as in its file, whatever is in it.
"""

import copyreg
import importlib
import io
import itertools
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from functools import lru_cache, partial
from typing import Any, Final

import msgspec
import numpy as np
import numpy.typing as npt

from kdiag.errors import ReportError

FORMAT: Final = 1
_OWN: Final = "kdiag."
_LEAST_SHARED_BYTES: Final = 32
_LARGEST_INT: Final = (1 << 63) - 1
_PLAIN: Final = (type(None), bool, float)
_SEQUENCES: Final = {list: "list", tuple: "tuple", set: "set", frozenset: "frozenset"}
_CALLABLES: Final[dict[str, Callable[..., Any]]] = {
    "bytearray": bytearray,
    "count": itertools.count,
    "counter": Counter,
    "defaultdict": defaultdict,
    "deque": deque,
    "int": int,
    "iter": iter,
    "ordered": OrderedDict,
    "range": range,
}
_ARRAY_KINDS: Final = frozenset("biu")
"""Booleans and whole numbers."""

_NAMES: Final = {function: name for name, function in _CALLABLES.items()}
_BUILTINS: Final = {"list": list, "dict": dict, "set": set, "int": int}
"""What `defaultdict` may be given."""

_Node = list[Any]


class _Graph(msgspec.Struct):
    format: int
    nodes: list[Any]


def encode_state(value: Any) -> bytes:
    """Return a state as bytes.

    Raises:
        TypeError: if it holds an object of a type that is not kdiag's.
    """
    encoder = _Encoder()
    root = encoder.put(value)
    return msgspec.msgpack.encode(_Graph(FORMAT, [root, *encoder.nodes]))


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
    except msgspec.DecodeError as error:
        raise ReportError(where, f"is no state of a stream: {error}; begin another one") from error
    if graph.format != FORMAT:
        raise ReportError(where, f"is of format {graph.format}, and this release reads {FORMAT}")
    try:
        root, *nodes = graph.nodes
        return _Decoder(nodes).value(root)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise ReportError(where, f"is damaged, or of another release: {error}") from error


class _Encoder:
    """Makes nodes of objects."""

    def __init__(self) -> None:
        self.nodes: list[_Node] = []
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

    def _shape(self, kind: type, names: Iterable[str]) -> list[int]:
        """Return a reference to a class, and the names of attributes in their order."""
        key = kind, tuple(names)
        index = self._indexes.get(key)
        if index is None:
            index = self._begin(key, kind)
            self.nodes[index].extend(["shape", _path(kind), *key[1]])
        return [index]

    def _node(self, value: Any, kind: type) -> _Node:
        if kind in _SEQUENCES:
            return [_SEQUENCES[kind], *map(self.put, value)]
        if kind is dict:
            return ["dict", *(self.put(each) for pair in value.items() for each in pair)]
        if kind in _SIMPLE_NODES:
            return _SIMPLE_NODES[kind](value)
        if isinstance(value, Enum):
            return ["enum", self.put(_path(kind)), self.put(value.value)]
        if isinstance(value, msgspec.Struct):
            fields = msgspec.structs.asdict(value)
            return ["struct", self._shape(kind, fields), *map(self.put, fields.values())]
        return self._function(value, kind) or self._reduced(value)

    def _function(self, value: Any, kind: type) -> _Node:
        """Return the node of what can be called, or a class; empty for anything else."""
        if kind is partial:
            return ["partial", self.put(value.func), self.put(value.args), self.put(value.keywords)]
        if kind is types.MethodType:
            return ["method", self.put(value.__self__), value.__name__]
        is_named = isinstance(value, type | types.FunctionType)
        return ["name", self.put(_path(value))] if is_named else []

    def _reduced(self, value: Any) -> _Node:
        """Return the node of an object by what it tells to who copies it."""
        made = value.__reduce_ex__(4)
        function, arguments, state, items, pairs = (*made, None, None, None)[:5]
        if function is getattr:  # a method of a type in C, or of a slot
            return ["method", self.put(arguments[0]), arguments[1]]
        if function is copyreg.__newobj__:  # type: ignore[attr-defined] # typeshed leaves it out
            cls, *arguments = arguments
            attributes = _attributes(state)
            if attributes is not None and items is None and pairs is None:
                given = [self.put(each) for each in arguments]
                shape = self._shape(cls, attributes)
                return ["plain", shape, given, *map(self.put, attributes.values())]
            what = ["object", self.put(_path(cls))]
        elif function in _NAMES:
            what = ["call", _NAMES[function]]
        elif isinstance(function, type):
            what = ["call", self.put(_path(function))]
        else:
            raise TypeError(f"{type(value)} cannot be in a state")
        return [
            *what,
            [self.put(each) for each in arguments],
            self.put(state),
            [self.put(each) for each in items or ()],
            [self.put(each) for pair in pairs or () for each in pair],
        ]


class _Decoder:
    """Makes objects of nodes."""

    def __init__(self, nodes: list[Any]) -> None:
        self._nodes = nodes
        self._made: dict[int, Any] = {}

    def value(self, put: Any) -> Any:
        """Return what a value or a reference stands for."""
        if type(put) is not list:
            return put
        index = put[0]
        if index not in self._made:
            made = self._make(index, self._nodes[index])
            self._made.setdefault(index, made)  # another, where it holds something that holds it
        return self._made[index]

    def _make(self, index: int, node: _Node) -> Any:
        kind, *rest = node
        if kind in {"list", "set", "dict"}:
            return self._filled(index, kind, rest)
        if kind == "plain":
            return self._plain(index, *rest)
        if kind in {"object", "call"}:
            return self._object(index, kind, rest)
        if kind in _SIMPLE:
            return _SIMPLE[kind](*rest)
        values = list(map(self.value, rest))
        if kind in {"tuple", "frozenset"}:
            return tuple(values) if kind == "tuple" else frozenset(values)
        return _MADE_OF[kind](*values)

    def _filled(self, index: int, kind: str, items: list[Any]) -> Any:
        made: Any = {"list": list, "set": set, "dict": dict}[kind]()
        self._made[index] = made  # what it holds may hold it
        values = map(self.value, items)
        if kind == "list":
            made.extend(values)
        else:
            made.update(_pairs(values) if kind == "dict" else values)
        return made

    def _plain(self, index: int, shape: Any, arguments: list[Any], *values: Any) -> Any:
        cls, names = self.value(shape)
        made = cls.__new__(cls, *map(self.value, arguments))
        made = self._made.setdefault(index, made)
        _set_state(made, dict(zip(names, map(self.value, values), strict=True)))
        return made

    def _object(self, index: int, kind: str, rest: list[Any]) -> Any:
        path, arguments, state, items, pairs = rest
        name = self.value(path)
        given = [self.value(each) for each in arguments]
        if kind == "object":
            cls = _named(name)
            made = cls.__new__(cls, *given)
        else:
            made = (_CALLABLES.get(name) or _named(name))(*given)
        made = self._made.setdefault(index, made)
        _set_state(made, self.value(state))
        for each in items:
            made.append(self.value(each))
        for key, value in _pairs(map(self.value, pairs)):
            made[key] = value
        return made


def _file_node(value: io.BytesIO) -> _Node:
    return ["file", value.getvalue(), value.tell()]


def _file(data: bytes, position: int) -> io.BytesIO:
    made = io.BytesIO(data)
    made.seek(position)
    return made


def _array_node(value: npt.NDArray[Any]) -> _Node:
    if value.dtype.kind not in _ARRAY_KINDS:
        raise TypeError(f"an array of {value.dtype} cannot be in a state")
    return ["array", value.dtype.str, list(value.shape), value.tobytes()]


def _array(kind: str, shape: list[int], data: bytes) -> npt.NDArray[Any]:
    """Return an array, which may be written to.

    Raises:
        ValueError: if it is not of plain numbers.
    """
    dtype = np.dtype(kind)
    if dtype.kind not in _ARRAY_KINDS:
        raise ValueError(f"an array of {kind}")
    return np.frombuffer(data, dtype).reshape(shape).copy()


_SIMPLE_NODES: Final[dict[type, Callable[[Any], _Node]]] = {
    bytes: lambda value: ["bytes", value],
    str: lambda value: ["str", value if value.isascii() else value.encode(errors="surrogatepass")],
    memoryview: lambda value: ["view", value.tobytes()],
    int: lambda value: ["int", str(value)],
    io.BytesIO: _file_node,
    np.ndarray: _array_node,
}
_SIMPLE: Final[dict[str, Callable[..., Any]]] = {
    "bytes": bytes,
    "str": lambda data: data if type(data) is str else data.decode(errors="surrogatepass"),
    "view": memoryview,
    "int": int,
    "file": _file,
    "array": _array,
}


def _attributes(state: Any) -> dict[str, Any] | None:
    """Return the attributes in a state, those of slots too; None if it is of another kind."""
    if isinstance(state, tuple) and len(state) == 2:  # noqa: PLR2004 - a dictionary and slots
        own, slots = state
        if isinstance(own, dict | None) and isinstance(slots, dict):
            return {**(own or {}), **slots}
    return state if isinstance(state, dict) else None


def _pairs(items: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield what stands one after the other, two by two."""
    each = iter(items)
    return zip(each, each, strict=True)


def _set_state(made: Any, state: Any) -> None:
    """Set the attributes of an object: those of its dictionary, and those of its slots."""
    if state is None:
        return
    if hasattr(made, "__setstate__"):
        made.__setstate__(state)
        return
    for attributes in state if isinstance(state, tuple) else (state,):
        for name, value in (attributes or {}).items():
            object.__setattr__(made, name, value)


def _path(named: Any) -> str:
    """Return the name of a class or a function of kdiag.

    Raises:
        TypeError: if it is of another package, or in a function.
    """
    for name, builtin in _BUILTINS.items():
        if builtin is named:
            return name
    path = f"{named.__module__}:{named.__qualname__}"
    if not path.startswith(_OWN) or "<" in path:
        raise TypeError(f"{path} cannot be in a state")
    return path


@lru_cache(maxsize=1024)
def _named(path: str) -> Any:
    """Return the class or function of a name.

    Raises:
        ValueError: if it is none of kdiag's.
    """
    if path in _BUILTINS:
        return _BUILTINS[path]
    module, _, name = path.partition(":")
    if not module.startswith(_OWN):
        raise ValueError(f"{path} is not of kdiag")
    try:
        found: Any = importlib.import_module(module)
    except ImportError as error:
        raise ValueError(f"{path} is not there") from error
    for part in name.split("."):
        found = getattr(found, part)
    if not isinstance(found, type | types.FunctionType) or not found.__module__.startswith(_OWN):
        raise ValueError(f"{path} is no class or function of kdiag")
    return found


def _method(owner: Any, name: str) -> Any:
    """Return a method of one of kdiag's objects, or of a collection.

    Raises:
        ValueError: if it is of another.
    """
    if not type(owner).__module__.startswith(_OWN) and type(owner) not in _METHOD_OWNERS:
        raise ValueError(f"method of {type(owner)}")
    return getattr(owner, name)


def _struct(shape: tuple[Any, tuple[str, ...]], *values: Any) -> Any:
    cls, names = shape
    return cls(**dict(zip(names, values, strict=True)))


def _shape(path: str, *names: str) -> tuple[Any, tuple[str, ...]]:
    return _named(path), names


_METHOD_OWNERS: Final = (list, dict, set, deque, bytearray)
_MADE_OF: Final[dict[str, Callable[..., Any]]] = {
    "name": _named,
    "enum": lambda path, value: _named(path)(value),
    "method": _method,
    "partial": lambda function, given, named: partial(function, *given, **named),
    "shape": _shape,
    "struct": _struct,
}
