"""The source of one Python function while it is written, line by line."""

from typing import Any


class FunctionSource:
    """The lines of a function, its free names and its globals.

    Attributes:
        names: the globals, by name.
        depth: the indentation of the next line.
    """

    def __init__(self, head: str, names: dict[str, Any]) -> None:
        """Start with the function's first line, such as `def f(x):`, and its first globals."""
        self.names = names
        self.depth = 1
        self._head = head
        self._lines: list[str] = []
        self._count = 0

    @property
    def text(self) -> str:
        """Return the source as it is so far."""
        return "\n".join([self._head, *(self._lines or ["    return"])])

    def line(self, text: str) -> None:
        """Write a line."""
        self._lines.append("    " * self.depth + text)

    def new(self, letter: str = "v") -> str:
        """Return a local name that is not in use."""
        self._count += 1
        return f"{letter}{self._count}"

    def bind(self, letter: str, value: object) -> str:
        """Return a global name for a value, the same name for the same value."""
        for name, known in self.names.items():
            if known is value:
                return name
        name = f"{letter}{len(self.names)}"
        self.names[name] = value
        return name
