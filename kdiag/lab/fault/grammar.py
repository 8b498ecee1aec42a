"""The grammar of faults: words, apart by spaces, of which the first may be the APIs.

    Fetch topic=orders delay=200ms p=0.1
    JoinGroup,SyncGroup group=billing nth=2 move_coordinator=2s
    any client_id="my app" close=middle times=1
    Produce error=NOT_ENOUGH_REPLICAS handled

A mapping of the same keys, as in YAML and JSON, is the same fault. Wrong texts raise ConfigError,
which says where, and what was expected there.
"""

import re
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final

from kdiag.errors import ConfigError
from kdiag.lab.fault.fault_key import FAULT_KEYS, MATCH, FaultKey
from kdiag.lab.fault.rule import NO_EFFECT, FaultEffect, FaultMatch, FaultRule
from kdiag.wire.catalog import API_BY_KEY, Api
from kdiag.wire.schema import Struct, fields_of

MOST_CHARACTERS: Final = 4096
"""How long a fault may be."""

_API: Final = "api"
_WORD: Final = re.compile(r"""(?:[^\s"']|"[^"]*"|'[^']*')+""")
_QUOTED: Final = re.compile(r""""([^"]*)"|'([^']*)'""")
_PLAIN: Final = re.compile(r"""[^\s"']+""")
_API_BY_NAME: Final = {api.name: api for api in API_BY_KEY.values()}
_FRAME_EFFECTS: Final = ("close", "truncate", "corrupt", "stall", "split", "bandwidth")
"""What happens to an answer, which has to be there."""


def parse_fault(text: str, origin: str = "--fault") -> FaultRule:
    """Return the fault of a text.

    Args:
        text: in the grammar.
        origin: who wrote it, for errors.

    Raises:
        ConfigError: if it is not a fault.
    """
    if len(text) > MOST_CHARACTERS:
        raise ConfigError("", origin, f"a fault has at most {MOST_CHARACTERS} characters")
    values: dict[str, tuple[str, str]] = {}
    position = 0
    while True:
        position += len(text[position:]) - len(text[position:].lstrip())
        if position == len(text):
            break
        place = f"{origin}, column {position + 1}"
        word = _WORD.match(text, position)
        if word is None:
            raise ConfigError("", place, "a quote is not closed")
        name, value = _split(word[0], is_first=not position and not values)
        if name in values:
            raise ConfigError("", place, f"{name} is there already")
        _key(name, place)
        values[name] = (value, place)
        position = word.end()
    return _rule(values, origin, text.strip())


def fault_of(mapping: Mapping[str, Any], origin: str) -> FaultRule:
    """Return the fault of a mapping, as YAML or JSON have it.

    Args:
        mapping: values by key; what is no text is written as such.
        origin: of the mapping, for errors.

    Raises:
        ConfigError: if it is not a fault.
    """
    values = {}
    for name, value in mapping.items():
        place = f"{origin}, {name}"
        _key(str(name), place)
        values[str(name)] = (_as_text(value, place), place)
    return _rule(values, origin, "")


def text_of(values: Mapping[str, str]) -> str:
    """Return values by key in the grammar."""
    words = []
    for name, value in values.items():
        quoted = value if _PLAIN.fullmatch(value) else f'"{value.replace(chr(34), "")}"'
        is_set = FAULT_KEYS[name].is_flag and value == "true"
        words.append(quoted if name == _API else name if is_set else f"{name}={quoted}")
    return " ".join(words)


def _split(word: str, *, is_first: bool) -> tuple[str, str]:
    """Return the key and the value of a word."""
    name, equals, value = word.partition("=")
    value = _QUOTED.sub(lambda found: found[1] or found[2] or "", value)
    if equals:
        return name, value
    if name in FAULT_KEYS and FAULT_KEYS[name].is_flag:
        return name, "true"
    return (_API, name) if is_first else (name, "")


def _key(name: str, place: str) -> FaultKey:
    key = FAULT_KEYS.get(name)
    if key is not None:
        return key
    near = get_close_matches(name, FAULT_KEYS, 1)
    hint = f"did you mean {near[0]}?" if near else f"keys are {', '.join(FAULT_KEYS)}"
    raise ConfigError("", place, f"{name!r} is not a key of a fault; {hint}")


def _as_text(value: Any, place: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list) and all(isinstance(each, str | int) for each in value):
        return ",".join(map(str, value))
    raise ConfigError("", place, "a text, a number, true or false was expected")


def _rule(values: Mapping[str, tuple[str, str]], origin: str, text: str) -> FaultRule:
    """Return the rule of texts by key, each with its place.

    Raises:
        ConfigError: if a value is wrong, or values contradict each other.
    """
    parsed: dict[str, dict[str, Any]] = {MATCH: {}, "effect": {}}
    for name, (value, place) in values.items():
        key = FAULT_KEYS[name]
        try:
            parsed[key.part][key.attribute] = key.parse(value)
        except ValueError as error:
            raise ConfigError("", place, f"{name}: {error}") from None
    count = parsed["effect"].get("empty_count")
    if count is not None:
        parsed[MATCH].setdefault("times", count)
    rule = FaultRule(
        match=FaultMatch(**parsed[MATCH]),
        effect=FaultEffect(**parsed["effect"]),
        text=text or text_of({name: value for name, (value, _) in values.items()}),
    )
    why = _contradiction(rule, set(values))
    if why is not None:
        raise ConfigError("", origin, why)
    return rule


def _contradiction(rule: FaultRule, names: set[str]) -> str | None:
    """Return why a rule cannot be; None if it can."""
    effect = rule.effect
    if effect == NO_EFFECT:
        effects = [key.name for key in FAULT_KEYS.values() if key.part != MATCH]
        return f"nothing happens: an effect was expected, one of {', '.join(effects)}"
    if effect.error is None and names & {"field", "handled"}:
        return "field and handled say more about an error, and there is none"
    silent = names & {"drop", "half_open"}
    lost = [each for each in _FRAME_EFFECTS if each in names]
    if silent and lost:
        return f"{min(silent)} and {lost[0]} cannot be both: there is no answer"
    if effect.close is not None and effect.stall_bytes is not None:
        return "close and stall cannot be both: what stalls does not end"
    if names & {"empty", "flip"} and not _all_have(rule, "records"):
        return "empty and flip are for answers with records, such as Fetch's"
    return _misplaced_error(rule)


def _all_have(rule: FaultRule, field: str) -> bool:
    """Return whether the answers of all APIs that a rule names have a field somewhere."""
    return all(_has(_API_BY_NAME[name].response_class(), field) for name in rule.match.apis)


def _has(cls: type[Struct], name: str) -> bool:
    return any(
        each.name == name or (isinstance(each.kind, type) and _has(each.kind, name))
        for each in fields_of(cls)
    )


def _misplaced_error(rule: FaultRule) -> str | None:
    """Return why an error has no place in the answers of a rule's APIs; None if it has one."""
    effect = rule.effect
    if effect.error is None or not rule.match.apis:
        return None
    for name in rule.match.apis:
        fields = error_fields(_API_BY_NAME[name])
        if not fields:
            return f"the answer to {name} has no place for an error"
        if effect.field is not None and effect.field not in fields:
            return f"{effect.field!r} is not a field of {name}'s; write {', '.join(fields)}"
    return None


def error_fields(api: Api) -> tuple[str, ...]:
    """Return the fields of an API's answer that hold an error code, in Kafka's names."""
    return tuple(_error_fields(api.response_class(), ""))


def _error_fields(cls: type[Struct], before: str) -> list[str]:
    found = []
    for field in fields_of(cls):
        path = before + field.json_name
        if isinstance(field.kind, type):
            found += _error_fields(field.kind, f"{path}.")
        elif field.name.endswith("error_code"):
            found.append(path)
    return found
