from kdiag.wire.codec.source import FunctionSource


def test_lines_are_indented_by_depth() -> None:
    """The depth starts inside the function and is the writer's to change."""
    source = FunctionSource("def double(x):", {})
    source.line("if x:")
    source.depth += 1
    source.line("return 2 * x")
    source.depth -= 1
    source.line("return 0")

    assert source.text == "def double(x):\n    if x:\n        return 2 * x\n    return 0"


def test_a_function_without_lines_is_still_one() -> None:
    """Its body is a bare return."""
    assert FunctionSource("def nothing():", {}).text == "def nothing():\n    return"


def test_each_value_has_one_global_name() -> None:
    """The same object is bound once; local names are never given twice."""
    source = FunctionSource("def f():", {"known": int})

    assert source.bind("C", int) == "known"
    assert source.bind("C", str) == source.bind("C", str) == "C1"
    assert source.names == {"known": int, "C1": str}
    assert source.new() != source.new()
