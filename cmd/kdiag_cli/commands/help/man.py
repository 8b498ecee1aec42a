"""Man pages, made from what `--help-json` says: a page for the program and for each command.

    man_pages(document)     # {"kdiag.1": ..., "kdiag-rebalance-explain.1": ...}

Source: man-pages(7), groff_man(7).
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from kdiag import __version__

_ESCAPES: Final = {ord("\\"): r"\e", ord("-"): r"\-", ord("'"): r"\(aq", ord("`"): r"\(ga"}
_CONTROL: Final = (".", "'")
"""With which a line of groff begins that is a request."""

_EXIT_CODES: Final = "kdiag help exit-codes"


def man_pages(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the pages by the names of their files.

    Args:
        document: of a program or a command, as `--help-json` prints it.
    """
    name = document["command"].replace(" ", "-")
    pages = {f"{name}.1": "\n".join(_page(name, document)) + "\n"}
    for each in document["commands"]:
        pages |= man_pages(each)
    return pages


def _page(name: str, document: Mapping[str, Any]) -> Iterator[str]:
    purpose, _, more = document["help"].partition("\n\n")
    yield f'.TH {name.upper()} 1 "" "kdiag {__version__}" "kdiag"'
    yield ".ad l"  # long options leave lines that cannot be adjusted
    yield from (".SH NAME", f"{_text(name)} {_text('-')} {_text(_joined(purpose).rstrip('.'))}")
    yield from (".SH SYNOPSIS", f".B {_text(document['command'])}", _text(_synopsis(document)))
    if more:
        yield ".SH DESCRIPTION"
        yield from _paragraphs(more)
    if document["examples"]:
        yield from (".SH EXAMPLES", ".nf", *map(_text, document["examples"]), ".fi")
    if document["commands"]:
        yield ".SH COMMANDS"
        for each in document["commands"]:
            line = _joined(each["help"].partition("\n\n")[0])
            yield from _term(each["command"].split()[-1], line)
    if document["arguments"]:
        yield ".SH ARGUMENTS"
        for each in document["arguments"]:
            yield from _term(each["name"], each["help"])
    yield from _options(document["options"])
    if document["notes"]:
        yield ".SH NOTES"
        yield from _paragraphs(document["notes"])
    yield from (".SH SEE ALSO", _text(f"kdiag help symptoms, {_EXIT_CODES}"))


def _synopsis(document: Mapping[str, Any]) -> str:
    words = [each["name"] for each in document["arguments"]]
    return " ".join(["[OPTIONS]", *(["COMMAND [ARGS]..."] if document["commands"] else words)])


def _options(options: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the options under their headings, which are together in the order they first come."""
    order = list(dict.fromkeys(each["heading"] for each in options))
    by_heading = sorted(options, key=lambda each: order.index(each["heading"]))
    if options:
        yield ".SH OPTIONS"
    for heading, group in groupby(by_heading, itemgetter("heading")):
        yield f".SS {_text(heading)}"
        for each in group:
            names = ", ".join(each["names"])
            default = each["default"]
            shown = default not in {None, False, True, "None", ""}
            text = f"{each['help']} Default: {default}." if shown else each["help"]
            yield from _term(f"{names} {each['metavar'] or ''}".strip(), text)


def _term(term: str, text: str) -> Iterator[str]:
    yield from (".TP", rf"\fB{_text(term)}\fR", _text(_joined(text)) or r"\&")


def _paragraphs(text: str) -> Iterator[str]:
    for number, paragraph in enumerate(text.split("\n\n")):
        if number:
            yield ".PP"
        yield _text(_joined(paragraph))


def _joined(text: str) -> str:
    return " ".join(text.split())


def _text(text: str) -> str:
    """Return a text that groff shows as it is."""
    escaped = text.translate(_ESCAPES)
    return rf"\&{escaped}" if text.startswith(_CONTROL) else escaped
