"""A condition on exchanges, written in SQL over the columns of the table `exchanges`.

    latency_us > 50000 AND api = 'Fetch'
    error IS NOT NULL AND NOT (client_id LIKE 'test-%' OR topics = 'canary')

It is what may stand behind WHERE in `kdiag query`, as far as it goes: comparisons, AND, OR, NOT,
IN, LIKE, BETWEEN, IS NULL, the four operations of arithmetic, and NULL's third truth value. A list,
such as `topics`, is equal to a text if one of its elements is. Exchanges are judged one by one as
they are read, so that nothing has to be stored.

    text      -> tokens      with their places
    tokens    -> terms       a term knows its type, its place and the function of its value
    term      -> Where       called with an exchange
"""

import operator
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from enum import Enum
from typing import Any, Final, NamedTuple

from kdiag.clock import NS_PER_US
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.line.quantities import parse_moment_ns
from kdiag.report.tables.body_texts import BodyTexts
from kdiag.report.tables.column import BOOLEAN, STRING, STRINGS, TIMESTAMP, Column
from kdiag.report.tables.exchanges import EXCHANGES, ExchangeFacts, SideFacts, facts_of

_TOKEN: Final = re.compile(
    r"""(?P<space>\s+)
    |(?P<number>\d{1,18}(?:\.\d{1,18})?(?:[eE][+-]?\d{1,2})?)
    |(?P<text>'(?:[^']|'')*')
    |(?P<name>[A-Za-z_]\w*|"[^"]*")
    |(?P<symbol><=|>=|<>|!=|==|[=<>()+\-*/,])""",
    re.VERBOSE | re.ASCII,
)
_WORDS: Final = frozenset(
    {"AND", "OR", "NOT", "IN", "LIKE", "ILIKE", "BETWEEN", "IS", "NULL", "TRUE", "FALSE"}
)
_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "=": operator.eq,
    "==": operator.eq,
    "<>": operator.ne,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_MAX_DEPTH: Final = 50
_MAX_LENGTH: Final = 10_000


class ExpressionError(ValueError):
    """A condition cannot be understood.

    Attributes:
        text: the whole condition.
        start, end: the part at fault, in characters.
        why: the reason.
    """

    def __init__(self, text: str, start: int, end: int, why: str) -> None:
        super().__init__(why)
        self.text = text
        self.start = start
        self.end = max(end, start + 1)
        self.why = why

    def __str__(self) -> str:
        line = " ".join(self.text.splitlines()) if "\n" in self.text else self.text
        return f"{self.why}\n  {line}\n  {' ' * self.start}{'^' * (self.end - self.start)}"


class _Kind(Enum):
    """The type of a term; its value is how messages call it."""

    TRUTH = "a condition"
    NUMBER = "a number"
    TEXT = "a text"
    TIME = "a time"
    LIST = "a list of texts"
    NULL = "NULL"
    OTHER = "a structure"


class _LazyRow:
    """An exchange whose columns are read on demand."""

    __slots__ = ("bodies", "facts")

    def __init__(self, facts: ExchangeFacts, bodies: BodyTexts) -> None:
        self.facts = facts
        self.bodies = bodies


class _Term(NamedTuple):
    """A part of the condition: its type, what it is worth for a row, and where it stands."""

    kind: _Kind
    value: Callable[[_LazyRow], Any]
    start: int
    end: int
    literal: Any = None


class _WhereToken(NamedTuple):
    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + len(self.text)


class Where:
    """A condition; called with an exchange it returns whether that meets it."""

    def __init__(self, text: str, *, now_ns: int = 0) -> None:
        """Read a condition.

        Args:
            text: as somebody wrote it.
            now_ns: the present, for moments such as `-1h`.

        Raises:
            ExpressionError: it cannot be understood; says where and why.
        """
        self.text = text
        self._term = _Parser(text, now_ns).parse()
        self._bodies: BodyTexts | None = None

    def __call__(self, dissection: Dissection, names: TopicNames) -> bool:
        """Return whether an exchange meets the condition; what is NULL does not."""
        if self._bodies is None:
            self._bodies = BodyTexts(names)
        row = _LazyRow(facts_of(dissection, names), self._bodies)
        return self._term.value(row) is True


class _Parser:
    """Reads a condition by recursive descent: one method for each precedence of SQL."""

    def __init__(self, text: str, now_ns: int) -> None:
        self._text = text
        self._now_ns = now_ns
        self._depth = 0
        self._tokens = self._split()
        self._at = 0

    def parse(self) -> _Term:
        """Return the term of the whole condition."""
        term = self._truth(self._or())
        if self._token.kind != "end":
            raise self._error(self._token, f"expected AND, OR or the end, not {self._token.text}")
        return term

    def _split(self) -> list[_WhereToken]:
        text, tokens, at = self._text, [], 0
        if len(text) > _MAX_LENGTH:
            raise ExpressionError(text[:80], 0, 1, f"is longer than {_MAX_LENGTH} characters")
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                is_quote = text[at] in "'\""
                why = "this quotation mark is never closed" if is_quote else "is not understood"
                raise ExpressionError(text, at, at + 1, why)
            kind, word = str(match.lastgroup), match.group()
            if kind == "name" and word.upper() in _WORDS:
                kind, word = "word", word.upper()
            if kind != "space":
                tokens.append(_WhereToken(kind, word, at))
            at = match.end()
        return [*tokens, _WhereToken("end", "the end", len(text))]

    @property
    def _token(self) -> _WhereToken:
        return self._tokens[self._at]

    def _skip(self, *texts: str) -> _WhereToken | None:
        """Pass over the next token and return it, if it is one of these words or symbols."""
        token = self._token
        if token.kind not in {"word", "symbol"} or token.text not in texts:
            return None
        self._at += 1
        return token

    def _require(self, text: str) -> _WhereToken:
        token = self._skip(text)
        if token is None:
            raise self._error(self._token, f"expected {text}, not {self._token.text}")
        return token

    def _or(self) -> _Term:
        term = self._and()
        while self._skip("OR"):
            term = _either(self._truth(term), self._truth(self._and()))
        return term

    def _and(self) -> _Term:
        term = self._not()
        while self._skip("AND"):
            term = _both(self._truth(term), self._truth(self._not()))
        return term

    def _not(self) -> _Term:
        token = self._skip("NOT")
        if token is None:
            return self._predicate()
        self._depth += 1
        self._check_depth(token)
        term = self._truth(self._not())
        self._depth -= 1
        return _negated(term, token.start)

    def _predicate(self) -> _Term:
        term = self._sum()
        symbol = self._skip(*_COMPARISONS)
        if symbol is not None:
            return self._compare(term, symbol.text, self._sum())
        if self._skip("IS"):
            is_not = self._skip("NOT") is not None
            end = self._require("NULL").end
            return _is_null(term, end, is_not=is_not)
        is_not = self._skip("NOT") is not None
        word = self._skip("IN", "LIKE", "ILIKE", "BETWEEN")
        if word is None:
            if is_not:
                why = f"expected IN, LIKE or BETWEEN, not {self._token.text}"
                raise self._error(self._token, why)
            return term
        found = self._tested(term, word.text)
        return _negated(found, found.start) if is_not else found

    def _tested(self, term: _Term, word: str) -> _Term:
        """Return the rest of a predicate behind IN, BETWEEN, LIKE or ILIKE."""
        if word == "IN":
            return self._in(term)
        if word == "BETWEEN":
            low = self._compare(term, ">=", self._sum())
            self._require("AND")
            return _both(low, self._compare(term, "<=", self._sum()))
        return self._like(term, is_strict=word == "LIKE")

    def _in(self, term: _Term) -> _Term:
        self._require("(")
        found = self._compare(term, "=", self._sum())
        while self._skip(","):
            found = _either(found, self._compare(term, "=", self._sum()))
        return found._replace(end=self._require(")").end)

    def _like(self, term: _Term, *, is_strict: bool) -> _Term:
        pattern = self._sum()
        if pattern.kind is not _Kind.TEXT or pattern.literal is None:
            raise self._fault(pattern, "expected a pattern in quotation marks, such as 'order-%'")
        if term.kind not in {_Kind.TEXT, _Kind.LIST}:
            raise self._fault(term, f"is {term.kind.value}: LIKE looks at texts")
        words = (_LIKE.get(each, re.escape(each)) for each in pattern.literal)
        matches = re.compile("".join(words), re.DOTALL | (0 if is_strict else re.IGNORECASE))
        test = matches.fullmatch
        value = term.value
        if term.kind is _Kind.LIST:
            return _truth(
                lambda row: _of_any(value(row), lambda each: test(each) is not None), term, pattern
            )
        return _truth(
            lambda row: _of(value(row), lambda each: test(each) is not None), term, pattern
        )

    def _compare(self, left: _Term, symbol: str, right: _Term) -> _Term:
        if right.kind is _Kind.LIST and left.kind is _Kind.TEXT:
            left, right = right, left
        left, right = self._as_time(left, right), self._as_time(right, left)
        if _Kind.NULL in {left.kind, right.kind}:
            null = left if left.kind is _Kind.NULL else right
            raise self._fault(null, "nothing is equal to NULL; write IS NULL or IS NOT NULL")
        compare = _COMPARISONS[symbol]
        one, other = left.value, right.value
        if left.kind is _Kind.LIST and right.kind is _Kind.TEXT:
            return self._has(left, symbol, right)
        if left.kind is not right.kind:
            why = f"{left.kind.value} cannot be compared with {right.kind.value}"
            raise ExpressionError(self._text, left.start, right.end, why)
        if left.kind in {_Kind.OTHER, _Kind.LIST}:
            raise self._fault(left, f"is {left.kind.value}: only IS NULL can be asked of it")

        def value(row: _LazyRow) -> bool | None:
            first = one(row)
            second = other(row)
            return None if first is None or second is None else compare(first, second)

        return _truth(value, left, right)

    def _has(self, values: _Term, symbol: str, text: _Term) -> _Term:
        """Return whether a list has an element, or has it not."""
        if symbol not in {"=", "==", "<>", "!="}:
            raise self._fault(values, f"is {values.kind.value}: use =, <>, IN or LIKE")
        one, other = values.value, text.value

        def value(row: _LazyRow) -> bool | None:
            wanted = other(row)
            return None if wanted is None else _of_any(one(row), wanted.__eq__)

        found = _truth(value, values, text)
        return found if symbol in {"=", "=="} else _negated(found, found.start)

    def _as_time(self, term: _Term, beside: _Term) -> _Term:
        """Return a text beside a time as the time that it means."""
        if beside.kind is not _Kind.TIME or term.kind is not _Kind.TEXT or term.literal is None:
            return term
        try:
            time_us = parse_moment_ns(term.literal, self._now_ns) // NS_PER_US
        except ValueError as error:
            raise self._fault(term, str(error)) from None
        return term._replace(kind=_Kind.TIME, value=lambda _: time_us)

    def _sum(self) -> _Term:
        term = self._product()
        while symbol := self._skip("+", "-"):
            term = self._calculated(term, symbol.text, self._product())
        return term

    def _product(self) -> _Term:
        term = self._signed()
        while symbol := self._skip("*", "/"):
            term = self._calculated(term, symbol.text, self._signed())
        return term

    def _signed(self) -> _Term:
        token = self._skip("-")
        if token is None:
            return self._atom()
        zero = _Term(_Kind.NUMBER, lambda _: 0, token.start, token.end)
        return self._calculated(zero, "-", self._atom())

    def _calculated(self, left: _Term, symbol: str, right: _Term) -> _Term:
        for term in (left, right):
            if term.kind is not _Kind.NUMBER:
                raise self._fault(
                    term, f"is {term.kind.value}: only numbers can be calculated with"
                )
        calculate = _ARITHMETIC[symbol]
        one, other = left.value, right.value

        def value(row: _LazyRow) -> Any:
            first = one(row)
            second = other(row)
            if first is None or second is None:
                return None
            try:
                return calculate(first, second)
            except (ZeroDivisionError, OverflowError):
                return None

        return _Term(_Kind.NUMBER, value, left.start, right.end)

    def _atom(self) -> _Term:
        token = self._token
        self._at += 1
        if token.kind == "number":
            number = float(token.text) if set(token.text) & set(".eE") else int(token.text)
            return _literal(_Kind.NUMBER, number, token)
        if token.kind == "text":
            return _literal(_Kind.TEXT, token.text[1:-1].replace("''", "'"), token)
        if token.kind == "name":
            return self._column(token)
        if token.text in {"TRUE", "FALSE"} and token.kind == "word":
            return _literal(_Kind.TRUTH, token.text == "TRUE", token)
        if token.text == "NULL" and token.kind == "word":
            return _literal(_Kind.NULL, None, token)
        if token.text == "(" and token.kind == "symbol":
            return self._group(token)
        raise self._error(token, f"expected a column or a value, not {token.text}")

    def _group(self, token: _WhereToken) -> _Term:
        self._depth += 1
        self._check_depth(token)
        term = self._or()
        self._depth -= 1
        return term._replace(start=token.start, end=self._require(")").end)

    def _column(self, token: _WhereToken) -> _Term:
        name = token.text.strip('"')
        found = _COLUMNS.get(name.lower())
        if found is None:
            raise self._error(token, _unknown(name, is_quoted=token.text.startswith('"')))
        return _Term(found[0], found[1], token.start, token.end)

    def _truth(self, term: _Term) -> _Term:
        """Return a term that must be a condition."""
        if term.kind is not _Kind.TRUTH:
            raise self._fault(term, f"is {term.kind.value}: compare it with something")
        return term

    def _check_depth(self, token: _WhereToken) -> None:
        if self._depth > _MAX_DEPTH:
            raise self._error(token, f"is deeper than {_MAX_DEPTH} parentheses")

    def _fault(self, term: _Term, why: str) -> ExpressionError:
        part = self._text[term.start : term.end]
        said = why if why.startswith(("expected", "nothing", "'")) else f"{part} {why}"
        return ExpressionError(self._text, term.start, term.end, said)

    def _error(self, token: _WhereToken, why: str) -> ExpressionError:
        return ExpressionError(self._text, token.start, token.end, why)


_LIKE: Final = {"%": ".*", "_": "."}


def _literal(kind: _Kind, value: Any, token: _WhereToken) -> _Term:
    return _Term(kind, lambda _: value, token.start, token.end, value)


def _truth(value: Callable[[_LazyRow], bool | None], first: _Term, last: _Term) -> _Term:
    return _Term(_Kind.TRUTH, value, min(first.start, last.start), max(first.end, last.end))


def _of(value: Any, test: Callable[[Any], bool]) -> bool | None:
    return None if value is None else test(value)


def _of_any(values: Any, test: Callable[[Any], bool]) -> bool | None:
    return None if values is None else any(map(test, values))


def _is_null(term: _Term, end: int, *, is_not: bool) -> _Term:
    value = term.value
    return _Term(_Kind.TRUTH, lambda row: (value(row) is None) is not is_not, term.start, end)


def _negated(term: _Term, start: int) -> _Term:
    value = term.value

    def negate(row: _LazyRow) -> bool | None:
        found = value(row)
        return None if found is None else not found

    return _Term(_Kind.TRUTH, negate, start, term.end)


def _both(left: _Term, right: _Term) -> _Term:
    one, other = left.value, right.value

    def value(row: _LazyRow) -> bool | None:
        first = one(row)
        if first is False:
            return False
        second = other(row)
        return second if first or second is False else None

    return _truth(value, left, right)


def _either(left: _Term, right: _Term) -> _Term:
    one, other = left.value, right.value

    def value(row: _LazyRow) -> bool | None:
        first = one(row)
        if first:
            return True
        second = other(row)
        return second if first is False or second else None

    return _truth(value, left, right)


def _unknown(name: str, *, is_quoted: bool) -> str:
    """Return what is wrong with the name of a column, and which there are."""
    near = get_close_matches(name.lower(), _COLUMNS)
    if is_quoted and not near:
        return f"{name} is not a column; a text stands in single quotation marks: '{name}'"
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return f"unknown column {name}{hint}\nthe columns are {', '.join(_COLUMNS)}"


def _kind_of(column: Column[Any]) -> _Kind:
    kinds = {STRING: _Kind.TEXT, BOOLEAN: _Kind.TRUTH, TIMESTAMP: _Kind.TIME, STRINGS: _Kind.LIST}
    if column.type in {"int", "bigint", "double"}:
        return _Kind.NUMBER
    return kinds.get(column.type, _Kind.OTHER)


def _reader(column: Column[Any]) -> Callable[[_LazyRow], Any]:
    """Return the function that reads a column of a row."""
    value = column.value
    side_name, _, rest = column.name.partition("_")
    if side_name not in {"request", "response"}:
        return lambda row: value(row.facts)
    is_response, is_body = side_name == "response", rest == "body"

    def read(row: _LazyRow) -> Any:
        facts = row.facts
        side = facts.response if is_response else facts.request
        if side is None:
            return None
        if is_body:
            text = row.bodies.text(facts.dissection, side, is_response=is_response)
            return None if text is None else text.decode()
        return value(SideFacts(side, side.frame, None))

    return read


_COLUMNS: Final = {each.name: (_kind_of(each), _reader(each)) for each in EXCHANGES.columns}
"""The type of each column, and the function that reads it."""
