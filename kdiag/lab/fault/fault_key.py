"""The keys of a fault: how each value is written, and what it means.

One table serves the grammar of `--fault`, the YAML files and their JSON schema. A parser gets the
text of a value and raises ValueError with what was expected.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from kdiag.exchange.line.quantities import parse_bits_per_s, parse_duration_ns, parse_size_bytes
from kdiag.lab.fault.rule import FLIPS
from kdiag.net.address import LARGEST_PORT
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.schema import Versions

MATCH: Final = "match"
EFFECT: Final = "effect"

_API_NAMES: Final = {api.name.lower(): api.name for api in API_BY_KEY.values()}
_BITS_PER_BYTE: Final = 8
_MOST_DIGITS: Final = 9
_LARGEST_VERSION: Final = 32_767
_NO_VERSIONS: Final = "none"


class FaultKey(NamedTuple):
    """A key.

    Attributes:
        name: as it is written.
        part: `match` or `effect`.
        attribute: of FaultMatch or FaultEffect.
        parse: from the text of a value to the value.
        example: a value.
        meaning: one sentence without its dot.
        json_type: what a JSON or YAML document may have for it.
    """

    name: str
    part: str
    attribute: str
    parse: Callable[[str], object]
    example: str
    meaning: str
    json_type: str = "string"

    @property
    def is_flag(self) -> bool:
        """Return whether it may stand without a value."""
        return self.json_type == "boolean"


def parse_apis(text: str) -> tuple[str, ...]:
    """Return the APIs of a list with commas, as Kafka names them; `any` is empty.

    Raises:
        ValueError: if there is no such API.
    """
    if text.lower() == "any":
        return ()
    names = []
    for each in text.split(","):
        name = _API_NAMES.get(each.strip().lower())
        if name is None:
            raise ValueError(f"{each!r} is not an API; write one such as Fetch, or any")
        names.append(name)
    return tuple(names)


def parse_range(text: str) -> Versions:
    """Return a range of numbers: `3`, `3-7` or `3+`.

    Raises:
        ValueError: if it is something else.
    """
    low, dash, high = text.removesuffix("+").partition("-")
    is_open = text.endswith("+")
    numbers = [low, high] if dash else [low]
    are_numbers = all(_is_digits(each) and int(each) <= _LARGEST_VERSION for each in numbers)
    if not are_numbers or (dash and (is_open or int(low) > int(high))):
        raise ValueError(f"{text!r} is not a range; write 3, 3-7 or 3+")
    return Versions.parse(text)


def _is_digits(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS


def _text(text: str) -> str:
    if not text:
        raise ValueError("a value was expected")
    return text


def _number(text: str) -> int:
    if not _is_digits(text):
        raise ValueError(f"{text!r} is not a number such as 3")
    return int(text)


def _count(text: str) -> int:
    if not _is_digits(text) or not int(text):
        raise ValueError(f"{text!r} is not a number from 1 on")
    return int(text)


def _position(text: str) -> int:
    if not _is_digits(text.removeprefix("-")):
        raise ValueError(f"{text!r} is not a position; write 12, or -1 for the last byte")
    return int(text)


def _probability(text: str) -> float:
    try:
        p = float(text)
    except ValueError:
        p = -1.0
    if not 0 <= p <= 1:
        raise ValueError(f"{text!r} is not a probability from 0 to 1")
    return p


def _signed_duration(text: str) -> int:
    ns = parse_duration_ns(text.lstrip("+-"))
    return -ns if text.startswith("-") else ns


def _bytes_per_s(text: str) -> int:
    rate = parse_bits_per_s(text) // _BITS_PER_BYTE
    if not rate:
        raise ValueError(f"{text!r} is less than a byte a second")
    return rate


def _positive_size(text: str) -> int:
    size = parse_size_bytes(text)
    if not size:
        raise ValueError("a size from 1 on was expected")
    return size


def _flag(text: str) -> bool:
    if text not in {"true", "false"}:
        raise ValueError(f"{text!r} is neither true nor false")
    return text == "true"


def _one_of(*words: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in words:
            raise ValueError(f"{text!r} is none of {', '.join(words)}")
        return text

    return parse


def _error_name(text: str) -> str:
    name = text.upper()
    if name not in CODE_BY_NAME:
        raise ValueError(f"{text!r} is not an error; write one such as NOT_COORDINATOR")
    return name


def _address(text: str) -> str:
    host, colon, port = text.rpartition(":")
    if not colon or not host or not _is_digits(port) or int(port) > LARGEST_PORT:
        raise ValueError(f"{text!r} is not an address; write HOST:PORT")
    return text


def _overrides(text: str) -> tuple[tuple[str, Versions], ...]:
    found = []
    for each in text.split(","):
        name, colon, versions = each.strip().partition(":")
        if not colon:
            raise ValueError(f"{each!r} is not API:VERSIONS; write Fetch:4-11 or Produce:none")
        (api,) = parse_apis(name) or ("",)
        if not api:
            raise ValueError("an API was expected before the colon, not any")
        is_none = versions == _NO_VERSIONS
        found.append((api, Versions.parse(versions) if is_none else parse_range(versions)))
    return tuple(found)


def _match(attribute: str, parse: Callable[[str], object], *rest: str) -> FaultKey:
    name = {"apis": "api", "versions": "version", "calls": "nth", "after_ns": "after"}
    key = name.get(attribute, attribute.removesuffix("_ns"))
    return FaultKey(key, MATCH, attribute, parse, *rest)


def _effect(name: str, attribute: str, parse: Callable[[str], object], *rest: str) -> FaultKey:
    return FaultKey(name, EFFECT, attribute, parse, *rest)


_NUMBER_TYPE: Final = "integer"
_TIME: Final = parse_duration_ns

_KEYS: Final = (
    _match("apis", parse_apis, "Fetch,Produce", "The APIs; the first word may do without `api=`"),
    _match("versions", parse_range, "4-11", "The version of the request"),
    _match("topic", _text, "orders*", "A topic of the request, with `*` and `?`"),
    _match("partition", _number, "3", "A partition of such a topic", _NUMBER_TYPE),
    _match("group", _text, "billing", "The group that the request names, with `*` and `?`"),
    _match("node", _number, "1", "The broker that is asked", _NUMBER_TYPE),
    _match("client_id", _text, "app-*", "The client's name, with `*` and `?`"),
    _match("connection", _count, "2", "The number of the connection at its broker", _NUMBER_TYPE),
    _match("calls", parse_range, "3", "Which of the requests that match so far: 3, 2-5, 4+"),
    _match("every", _count, "10", "Each so many of them", _NUMBER_TYPE),
    _match("p", _probability, "0.1", "The probability", "number"),
    _match("seed", _number, "7", "Of the generator for p and jitter; 0 by default", _NUMBER_TYPE),
    _match("times", _count, "1", "How often at the most", _NUMBER_TYPE),
    _match("after_ns", _TIME, "5s", "Nothing happens before, since the fault was added"),
    _match("for_ns", _TIME, "30s", "Nothing happens later than so long after that"),
    _effect("error", "error", _error_name, "NOT_COORDINATOR", "The answer has this error code"),
    _effect("field", "field", _text, "topics.errorCode", "Where; the deepest fields by default"),
    _effect(
        "handled", "is_handled", _flag, "true", "It is handled though an error is told", "boolean"
    ),
    _effect("delay", "delay_ns", _TIME, "200ms", "The answer leaves so much later"),
    _effect("jitter", "jitter_ns", _TIME, "50ms", "And up to so much later again, by chance"),
    _effect(
        "drop",
        "drop",
        _one_of("request", "answer"),
        "request",
        "The connection falls silent, before or after the request is handled",
    ),
    _effect(
        "close",
        "close",
        _one_of("before", "middle", "after"),
        "middle",
        "The connection is closed before, in the middle of, or after the answer",
    ),
    _effect("truncate", "truncate_bytes", parse_size_bytes, "40", "The answer is cut to this size"),
    _effect(
        "corrupt",
        "corrupt",
        _position,
        "-1",
        "This byte of the answer is another; -1 is the last",
        _NUMBER_TYPE,
    ),
    _effect("stall", "stall_bytes", parse_size_bytes, "100", "Nothing comes after so many bytes"),
    _effect("bandwidth", "bytes_per_s", _bytes_per_s, "64kB/s", "How fast the answer leaves"),
    _effect("throttle", "throttle_ns", _TIME, "1s", "It is told, and the connection is not read"),
    _effect(
        "split", "split_bytes", _positive_size, "1", "The answer leaves in writes of this size"
    ),
    _effect(
        "coalesce", "coalesce", _count, "2", "So many answers leave in one write", _NUMBER_TYPE
    ),
    _effect(
        "reorder", "reorder", _count, "2", "So many answers leave in reverse order", _NUMBER_TYPE
    ),
    _effect(
        "half_open", "is_half_open", _flag, "true", "The connection is open, and dead", "boolean"
    ),
    _effect("advertise", "advertise", _address, "10.9.9.9:9092", "The address that brokers tell"),
    _effect("storm", "storm_ns", _TIME, "10s", "So long no coordinator will be one"),
    _effect("move_coordinator", "move_coordinator_ns", _TIME, "2s", "So long the group has none"),
    _effect("change_leader", "change_leader_ns", _TIME, "2s", "So long partitions have no leader"),
    _effect("shrink_isr", "shrink_isr_ns", _TIME, "10s", "So long leaders alone are in sync"),
    _effect("slow_disk", "slow_disk_ns", _TIME, "500ms", "Logs are read and written so slowly"),
    _effect("empty", "empty_count", _count, "3", "So many answers have no records", _NUMBER_TYPE),
    _effect(
        "leave_out", "is_left_out", _flag, "true", "Its partitions are not in the answer", "boolean"
    ),
    _effect(
        "flip",
        "flip",
        _one_of(*FLIPS),
        "base_offset",
        f"A bit of the first batch is another, in its {', '.join(FLIPS)}",
    ),
    _effect(
        "clock_skew", "clock_skew_ns", _signed_duration, "-1h", "Brokers' times are off by this"
    ),
    _effect(
        "api_versions",
        "api_versions",
        _overrides,
        "Fetch:4-11,Produce:none",
        "What ApiVersions tells instead",
    ),
)

FAULT_KEYS: Final = {each.name: each for each in _KEYS}
"""The keys by their names."""
