from kdiag.lab.controller.topic_names import colliding_name, fault_in_name
from tiers.cases import for_each


@for_each("name", ["a", "orders.eu_2-X", "...", "a" * 249])
def test_these_are_names(name: str) -> None:
    """Up to 249 letters, digits, dots, underscores and hyphens."""
    assert fault_in_name(name) is None


@for_each(
    ("name", "why"),
    [
        ("", "not empty"),
        (".", "a folder"),
        ("..", "a folder"),
        ("a" * 250, "250"),
        ("a/b", "ASCII"),
        ("ärger", "ASCII"),
        ("a b", "ASCII"),
        ("a\n", "ASCII"),
    ],
)
def test_these_are_none(name: str, why: str) -> None:
    """With the reason."""
    assert why in (fault_in_name(name) or "")


def test_dots_and_underscores_collide() -> None:
    """In the names of metrics; a topic does not collide with itself."""
    assert colliding_name("a.b", ["x", "a_b"]) == "a_b"
    assert colliding_name("a_b", ["a_b", "a.c"]) is None
    assert colliding_name("ab", ["a.b", "a_b"]) is None
