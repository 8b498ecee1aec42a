"""The request that a person means: which API, what it asks, in which versions it can be said."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

import typer

from kdiag import __version__
from kdiag.client.network.api_versions import SOFTWARE_NAME
from kdiag.client.network.request import RequestBuilder
from kdiag.errors import EncodeError
from kdiag.wire import api_keys
from kdiag.wire.catalog import Api
from kdiag.wire.codec.encode_check import find_fault
from kdiag.wire.codec.json_form import from_json
from kdiag.wire.schema import Struct, Versions

_FIRST_WITH_SOFTWARE: Final = 3
_SOFTWARE: Final = {"clientSoftwareName": SOFTWARE_NAME, "clientSoftwareVersion": __version__}
"""What brokers refuse an ApiVersions request without."""

_JSON_HINT: Final = "'JSON'"


class RequestMessage(NamedTuple):
    """A request that may be sent.

    Attributes:
        api: which API.
        form: what it asks, in Kafka's JSON.
        versions: the versions that can say it.
    """

    api: Api
    form: dict[str, Any]
    versions: Versions

    def build(self, version: int) -> Struct:
        """Return the message for a version.

        Raises:
            EncodeError: if that version cannot say it.
        """
        form = self.form
        if self.api.key == api_keys.API_VERSIONS and version >= _FIRST_WITH_SOFTWARE:
            form = {**_SOFTWARE, **form}
        return from_json(self.api.request_class(), version, form)

    @property
    def builder(self) -> RequestBuilder:
        """Return it as the client takes it."""
        return RequestBuilder(self.api, self.versions, self.build)


def check_version(api: Api, version: int | None) -> None:
    """Check that a version exists, if one is given.

    Raises:
        typer.BadParameter: if no Kafka has had it.
    """
    if version is not None and not api.versions.covers(version):
        why = f"{api.name} has versions {api.versions}, not {version}"
        raise typer.BadParameter(why, param_hint="'--api-version'")


def read_json(text: str | None) -> dict[str, Any]:
    """Return the JSON object that is given as it is, in a file (`@FILE`) or on stdin (`-`).

    Raises:
        typer.BadParameter: if it is none, or the file cannot be read.
    """
    if text is None:
        return {}
    source, read = _source(text)
    try:
        form = json.loads(read())
    except json.JSONDecodeError as error:
        why = f"{source} is no JSON: line {error.lineno}, column {error.colno}: {error.msg}"
        raise typer.BadParameter(why, param_hint=_JSON_HINT) from None
    except OSError as error:
        why = f"{source} cannot be read: {error.strerror}"
        raise typer.BadParameter(why, param_hint=_JSON_HINT) from None
    except (ValueError, RecursionError) as error:  # not UTF-8, a number without end, too deep
        raise typer.BadParameter(f"{source} is no JSON: {error}", param_hint=_JSON_HINT) from None
    if not isinstance(form, dict):
        why = f"{source} must be an object with the fields of the request, such as {{}}"
        raise typer.BadParameter(why, param_hint=_JSON_HINT)
    return form


def _source(text: str) -> tuple[str, Callable[[], str | bytes]]:
    """Return what a source is called, and what reads it."""
    if text == "-":
        return "stdin", sys.stdin.buffer.read
    if text.startswith("@"):
        return text[1:], Path(text[1:]).read_bytes
    return "the argument", lambda: text


def read_message(api: Api, form: dict[str, Any], version: int | None) -> RequestMessage:
    """Return the request that some JSON means.

    Args:
        api: the API.
        form: in Kafka's JSON.
        version: the only version to use; None for every one that has all the fields of the form.

    Raises:
        EncodeError: if no version, or not that one, can say it; tells the field and why not.
    """
    fits = _versions_for(api, form) if version is None else Versions(version, version)
    fault = _fault(api, form, fits.high)
    if fault is not None:
        raise fault
    return RequestMessage(api, form, fits)


def _versions_for(api: Api, form: dict[str, Any]) -> Versions:
    """Return the newest versions that can say what is meant; the newest of all if none can."""
    can = [_fault(api, form, each) is None for each in range(api.versions.high + 1)]
    high = max((each for each, is_able in enumerate(can) if is_able), default=api.versions.high)
    low = high
    while low > api.versions.low and can[low - 1]:
        low -= 1
    return Versions(low, high)


def _fault(api: Api, form: dict[str, Any], version: int) -> EncodeError | None:
    """Return why a version cannot say what is meant; None if it can."""
    try:
        message = from_json(api.request_class(), version, form)
    except EncodeError as error:
        return error
    return find_fault(message, version)
