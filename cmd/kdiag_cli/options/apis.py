"""The names of Kafka's APIs in options: written as people write them, with a hint for mistakes."""

import re
from difflib import get_close_matches
from typing import Final

import typer

from kdiag.wire.catalog import API_BY_KEY, APIS, Api, api_named

_KEY: Final = re.compile(r"-?\d{1,5}")
_SUFFIX: Final = "request"


class ApiKeys(frozenset[int]):
    """The keys of the APIs that one option names; typer knows no `frozenset[int]`."""


def read_api(text: str) -> Api:
    """Return the API of a name, however it is written, or of a key.

    Raises:
        typer.BadParameter: if it is unknown; the message names those that are near.
    """
    if text.isdecimal() and text.isascii() and int(text) in API_BY_KEY:
        return API_BY_KEY[int(text)]
    plain = text.strip().replace("-", "").replace("_", "").lower().removesuffix(_SUFFIX)
    api = api_named(plain)
    if api is None:
        names = {each.name.lower(): each.name for each in APIS}
        near = [names[each] for each in get_close_matches(plain, names)]
        hint = f"did you mean {' or '.join(near)}?" if near else f"names are as {APIS[1].name}"
        raise typer.BadParameter(f"no API is called {text!r}; {hint}")
    return api


def read_api_keys(text: str) -> ApiKeys:
    """Return the keys of APIs, several with commas; a key need not be known.

    Raises:
        typer.BadParameter: as `read_api`.
    """
    words = text.split(",")
    return ApiKeys(int(word) if _KEY.fullmatch(word) else read_api(word).key for word in words)
