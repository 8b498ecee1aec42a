"""Files of faults: YAML, and the JSON schema that editors and other programs check them by.

    faults:
      - api: Fetch
        topic: orders
        delay: 200ms
        p: 0.1
      - JoinGroup nth=2 move_coordinator=2s

`kdiag lab fault schema` prints the schema.
"""

from pathlib import Path
from typing import Any, Final

from kdiag.errors import ConfigError
from kdiag.lab.fault.fault_key import FAULT_KEYS, FaultKey
from kdiag.lab.fault.grammar import fault_of, parse_fault
from kdiag.lab.fault.rule import FaultRule

MOST_BYTES: Final = 1 << 20
"""The largest file."""
MOST_FAULTS: Final = 1000
"""How many faults there may be at once."""

_FAULTS: Final = "faults"
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def read_faults(path: Path) -> list[FaultRule]:
    """Return the faults of a file.

    Raises:
        ConfigError: if it cannot be read, or has something else.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ConfigError("", str(path), f"has more than {MOST_BYTES} bytes")
        text = data.decode()
    except (OSError, ValueError) as error:
        raise ConfigError("", str(path), f"cannot be read: {error}") from None
    return parse_faults(text, str(path))


def parse_faults(text: str, origin: str) -> list[FaultRule]:
    """Return the faults of a YAML document.

    Raises:
        ConfigError: if it is something else.
    """
    document = _load(text, origin)
    if not isinstance(document, dict) or set(document) != {_FAULTS}:
        raise ConfigError("", origin, f"a mapping with the key {_FAULTS} alone was expected")
    faults = document[_FAULTS]
    if not isinstance(faults, list) or len(faults) > MOST_FAULTS:
        raise ConfigError("", origin, f"{_FAULTS}: a list of at most {MOST_FAULTS} was expected")
    return [_fault(each, f"{origin}, fault {number}") for number, each in enumerate(faults, 1)]


def faults_schema() -> dict[str, Any]:
    """Return the JSON schema of a file of faults."""
    properties = {each.name: _property(each) for each in FAULT_KEYS.values()}
    return {
        "$schema": _DIALECT,
        "title": "Faults of a lab of kdiag, or of its proxy",
        "type": "object",
        "required": [_FAULTS],
        "additionalProperties": False,
        "properties": {
            _FAULTS: {
                "type": "array",
                "maxItems": MOST_FAULTS,
                "items": {
                    "oneOf": [
                        {"type": "string", "description": "A fault in the grammar of --fault."},
                        {
                            "type": "object",
                            "properties": properties,
                            "additionalProperties": False,
                        },
                    ]
                },
            }
        },
    }


def _property(key: FaultKey) -> dict[str, Any]:
    types = [key.json_type] if key.json_type in {"string", "boolean"} else [key.json_type, "string"]
    if key.json_type == "string":
        types.append("integer")  # YAML reads `nth: 3` as a number
    return {"type": types, "description": f"{key.meaning}.", "examples": [key.example]}


def _fault(given: Any, origin: str) -> FaultRule:
    if isinstance(given, str):
        return parse_fault(given, origin)
    if isinstance(given, dict):
        return fault_of(given, origin)
    raise ConfigError("", origin, "a fault was expected: a mapping, or a text in the grammar")


def _load(text: str, origin: str) -> Any:
    from yaml import YAMLError, safe_load  # noqa: PLC0415 - 20 ms, where there is a file

    try:
        return safe_load(text)
    except (YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = origin if mark is None else f"{origin}:{mark.line + 1}"
        problem = getattr(error, "problem", None) or "it is nested too deep or malformed"
        raise ConfigError("", place, f"is not YAML: {problem}") from None
