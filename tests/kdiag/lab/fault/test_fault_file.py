from pathlib import Path

import pytest

from kdiag.errors import ConfigError
from kdiag.lab.fault.fault_file import faults_schema, parse_faults, read_faults
from kdiag.lab.fault.fault_key import FAULT_KEYS
from kdiag.lab.fault.grammar import parse_fault
from tiers.cases import for_each

DOCUMENT = """
faults:
  - api: Fetch
    topic: orders
    delay: 200ms
    nth: 3
    p: 0.5
  - Heartbeat error=NOT_COORDINATOR
"""


def test_a_file_has_faults_as_mappings_and_as_texts(tmp_path: Path) -> None:
    """Both are as if they were options."""
    path = tmp_path / "faults.yaml"
    path.write_text(DOCUMENT)
    assert read_faults(path) == [
        parse_fault("Fetch topic=orders delay=200ms nth=3 p=0.5"),
        parse_fault("Heartbeat error=NOT_COORDINATOR"),
    ]


@pytest.mark.thorough
@for_each(
    ("text", "why"),
    [
        ("faults: [", "is not YAML"),
        ("- 1", "a mapping with the key faults alone"),
        ("faults: 3", "a list of at most"),
        ("faults: [3]", "fault 1: a fault was expected"),
        ("faults:\n- delay: 1s\n- dely: 1s", "fault 2, dely: 'dely' is not a key"),
        ("[" * 5000, "is not YAML"),
    ],
)
def test_a_wrong_file_says_where(text: str, why: str) -> None:
    """And what was expected there."""
    with pytest.raises(ConfigError) as caught:
        parse_faults(text, "faults.yaml")
    assert why in str(caught.value)
    assert str(caught.value).startswith("faults.yaml")


def test_a_file_that_is_not_there_or_too_large_is_said(tmp_path: Path) -> None:
    """In one line."""
    with pytest.raises(ConfigError, match="cannot be read"):
        read_faults(tmp_path / "absent.yaml")
    (tmp_path / "large.yaml").write_bytes(b"#" * (1 << 20) + b"\n")
    with pytest.raises(ConfigError, match="more than"):
        read_faults(tmp_path / "large.yaml")


def test_the_schema_describes_every_key() -> None:
    """With an example each, and nothing else is allowed."""
    items = faults_schema()["properties"]["faults"]["items"]
    mapping = items["oneOf"][1]
    assert mapping["properties"].keys() == FAULT_KEYS.keys()
    assert mapping["additionalProperties"] is False
    assert mapping["properties"]["nth"]["type"] == ["string", "integer"]
