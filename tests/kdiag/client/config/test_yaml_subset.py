from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.client.config.yaml_subset import read_yaml

DOCUMENT = """\
---
# a comment
name: plain text   # behind it
"quoted key": "a: b # c"
list:
- one
- 'two'
nested:
    empty: {}
    none:
    many: [a, b]
    deep:
      - name: first
        port: 9092
      -
        name: second
      - localhost:9092
"""


def test_what_people_write_is_read() -> None:
    """Mappings, lists and text; numbers stay text."""
    assert read_yaml(DOCUMENT) == {
        "name": "plain text",
        "quoted key": "a: b # c",
        "list": ["one", "two"],
        "nested": {
            "empty": None,
            "none": None,
            "many": ["a", "b"],
            "deep": [{"name": "first", "port": "9092"}, {"name": "second"}, "localhost:9092"],
        },
    }
    assert read_yaml("# nothing\n") is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: 1\nb", 2),
        ("a: |\n  text", 1),
        ("a: {b: c}", 1),
        ("a: *alias", 1),
        ("a: 1\n   b: 2", 2),
        ("- a\nb: c", 2),
        ("- - a", 1),
        ("\n".join("  " * depth + "a:" for depth in range(30)), 22),
    ],
)
def test_what_is_not_read_is_named_with_its_line(text: str, line: int) -> None:
    """Rather than read as something else."""
    with pytest.raises(ValueError, match=f"line {line}:"):
        read_yaml(text)


@given(st.text(st.sampled_from("ab:- \n#'\"[]{}&")))
def test_whatever_stands_there_is_read_or_refused(text: str) -> None:
    """Nothing else is raised."""
    with suppress(ValueError):
        assert isinstance(read_yaml(text), dict | list | None)
