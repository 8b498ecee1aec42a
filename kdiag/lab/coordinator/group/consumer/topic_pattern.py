r"""A pattern of topic names, as RE2 has them, in time that grows with the name alone.

    TopicPattern("orders-.*").matches("orders-eu")       True: the whole name has to match
    TopicPattern("(a+)+").matches("a" * 249 + "!")       False, at once

Literals, `.`, `[a-z]`, `[^a]`, `\d \w \s` and their opposites, `\.`, `( )`, `(?: )`, `|`, `* + ?`
and `{2,5}`, also lazily, `^` and `$`. What RE2 does not know, such as `(?=` and `\1`, is refused,
and so are named groups, flags and Unicode classes, which it does.

A pattern is made into a machine whose states are followed all at once (Thompson's construction), so
that no pattern that a member sends can hold up the broker.

Source: KIP-848 (RE2/J); Ken Thompson, "Regular Expression Search Algorithm" (1968).
"""

from collections.abc import Callable
from typing import Final, NoReturn

from kdiag.lab.controller.refusal import RequestRefusedError

MOST_STATES: Final = 2_000
"""A pattern that needs more is refused: `(a{100}){100}` and its like."""
MOST_REPEATS: Final = 1_000
MOST_NESTED: Final = 100

_SPECIAL: Final = frozenset("\\.+*?()|[]{}^$")
_CLASSES: Final = {
    "d": str.isdecimal,
    "w": lambda char: char.isascii() and (char.isalnum() or char == "_"),
    "s": str.isspace,
}

Accepts = Callable[[str], bool]
"""Whether a character may come next."""


class _Junction:
    """A state: a character that may come, and where to go then; or where to go at once."""

    def __init__(self, accepts: Accepts | None = None) -> None:
        self.accepts = accepts
        self.nexts: list[_Junction] = []


class TopicPattern:
    """A pattern.

    Attributes:
        text: as it was given.
    """

    def __init__(self, text: str) -> None:
        """Read a pattern.

        Raises:
            RequestRefusedError: INVALID_REGULAR_EXPRESSION.
        """
        self.text = text
        self._at = 0
        self._count = 0
        self._depth = 0
        self._start, self._end = self._alternatives()
        if self._at < len(text):
            self._refuse("a ) without its (")

    def __repr__(self) -> str:
        return f"<TopicPattern {self.text!r}>"

    def matches(self, name: str) -> bool:
        """Return whether a whole name matches."""
        states = _followed([self._start])
        for char in name:
            states = _followed(
                [
                    after
                    for state in states
                    if state.accepts is not None and state.accepts(char)
                    for after in state.nexts
                ]
            )
        return self._end in states

    def _state(self, accepts: Accepts | None = None) -> _Junction:
        self._count += 1
        if self._count > MOST_STATES:
            self._refuse("too large")
        return _Junction(accepts)

    def _refuse(self, why: str) -> NoReturn:
        raise RequestRefusedError(
            "INVALID_REGULAR_EXPRESSION", f"{self.text[:100]!r} at {self._at}: {why}"
        )

    def _peek(self) -> str:
        return self.text[self._at : self._at + 1]

    def _takes(self, text: str) -> bool:
        """Return whether a text comes next, and pass over it."""
        is_next = self.text.startswith(text, self._at)
        self._at += len(text) if is_next else 0
        return is_next

    def _alternatives(self) -> tuple[_Junction, _Junction]:
        start, end = self._state(), self._state()
        while True:
            first, last = self._sequence()
            start.nexts.append(first)
            last.nexts.append(end)
            if not self._takes("|"):
                return start, end

    def _sequence(self) -> tuple[_Junction, _Junction]:
        start = end = self._state()
        while self._peek() not in {"", "|", ")"}:
            begun = self._at
            first, last = self._atom()
            if self._peek() in {"*", "+", "?", "{"}:
                first, last = self._repeated(begun, first, last)
            end.nexts.append(first)
            end = last
        return start, end

    def _atom(self) -> tuple[_Junction, _Junction]:
        if self._takes("("):
            return self._group()
        if self._takes("^") or self._takes("$"):
            # The whole name has to match, so they stand for nothing at its ends.
            is_end = self.text[self._at - 1] == "$"
            rest = self.text[self._at :] if is_end else self.text[: self._at - 1]
            if rest.strip("()^$|"):
                self._refuse("^ and $ stand at the ends only")
            state = self._state()
            return state, state
        return self._single(self._accepted())

    def _group(self) -> tuple[_Junction, _Junction]:
        if self._peek() == "?" and not self._takes("?:"):
            self._refuse("only (?: is known of (?")
        self._depth += 1
        if self._depth > MOST_NESTED:
            self._refuse("nested too deeply")
        found = self._alternatives()
        self._depth -= 1
        if not self._takes(")"):
            self._refuse("a ( without its )")
        return found

    def _single(self, accepts: Accepts) -> tuple[_Junction, _Junction]:
        start, end = self._state(accepts), self._state()
        start.nexts.append(end)
        return start, end

    def _repeated(
        self, begun: int, first: _Junction, last: _Junction
    ) -> tuple[_Junction, _Junction]:
        """Return an atom as often as its sign says; it is read again for each time."""
        ended = self._at
        least, most = self._bounds()
        self._takes("?")  # lazily: the same names match
        if self._peek() in {"*", "+", "?", "{"}:
            self._refuse("nothing to repeat")
        after = self._at
        start, end = self._state(), self._state()
        at = start
        for number in range(max(least, 1) if most is None else most):
            if number:
                self._at = begun
                first, last = self._atom()
                assert self._at == ended
            if number >= least:
                at.nexts.append(end)
            at.nexts.append(first)
            at = last
        at.nexts.append(end)
        if most is None:
            at.nexts.append(first)
            if not least:
                start.nexts.append(end)
        self._at = after
        return start, end

    def _bounds(self) -> tuple[int, int | None]:
        """Return how often an atom comes, at least and at the most."""
        for sign, bounds in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self._takes(sign):
                return bounds
        close = self.text.find("}", self._at)
        low, comma, high = self.text[self._at + 1 : max(close, 0)].partition(",")
        texts = [low, *([high] if high else [])]
        if close < 0 or not all(each.isascii() and each.isdigit() for each in texts):
            self._refuse("expected {2}, {2,} or {2,5}")
        if any(len(each) > len(str(MOST_REPEATS)) for each in texts):
            self._refuse("repeated too often")
        self._at = close + 1
        least = int(low)
        most = None if comma and not high else int(high or low)
        if max(least, most or 0) > MOST_REPEATS or (most is not None and most < least):
            self._refuse(f"up to {MOST_REPEATS} times, the smaller number first")
        return least, most

    def _accepted(self) -> Accepts:
        """Return which character may come."""
        if self._takes("["):
            return self._class()
        if self._takes("."):
            return lambda _: True
        if self._takes("\\"):
            return self._escaped()
        char = self._peek()
        if char in {"*", "+", "?", "{", "}", "]"}:
            self._refuse("nothing to repeat" if char not in {"}", "]"} else f"a lone {char}")
        self._at += 1
        return char.__eq__

    def _escaped(self) -> Accepts:
        char = self._peek()
        self._at += 1
        known = _CLASSES.get(char.lower()) if char else None
        if known is not None:
            return known if char.islower() else lambda each: not known(each)
        if char in _SPECIAL or (char.isascii() and not char.isalnum() and char):
            return char.__eq__
        return self._refuse(f"\\{char} is not known")

    def _class(self) -> Accepts:
        is_other = self._takes("^")
        parts: list[Accepts] = []
        while not self._takes("]") or not parts:
            if self.text[self._at - 1] == "]" and not parts:
                self._at -= 1
            if not self._peek():
                self._refuse("a [ without its ]")
            parts.append(self._range())
        if is_other:
            return lambda char: not any(part(char) for part in parts)
        return lambda char: any(part(char) for part in parts)

    def _range(self) -> Accepts:
        if self._takes("\\"):
            return self._escaped()
        low = self._peek()
        self._at += 1
        is_range = self._peek() == "-" and self.text[self._at + 1 : self._at + 2] not in {"", "]"}
        if not is_range:
            return low.__eq__
        self._at += 1
        high = self._peek()
        self._at += 1
        if high == "\\" or high < low:
            self._refuse(f"{low}-{high} is not a range")
        return lambda char: low <= char <= high


def _followed(states: list[_Junction]) -> set[_Junction]:
    """Return states with those that come at once after them."""
    found: set[_Junction] = set()
    waiting = list(states)
    while waiting:
        state = waiting.pop()
        if state not in found:
            found.add(state)
            if state.accepts is None:
                waiting += state.nexts
    return found
