"""Every Kafka API: its key, name, versions, headers and classes.

A capture is told apart without importing a single API module: an `Api` imports its module when a
class is asked for. The facts are in `kdiag.wire.api.table`, made from Kafka's jars by
`kdiag_schema`; other modules name an API by `kdiag.wire.api_keys`.

Source: the message schemas in Kafka's jars; KIP-482 (flexible versions), KIP-511 (the header of
ApiVersions responses).
"""

from functools import cache
from importlib import import_module
from typing import Final, NamedTuple, cast

from kdiag.wire import api_keys
from kdiag.wire.api import table
from kdiag.wire.schema import NO_VERSIONS, Struct, Versions

NEWEST_KAFKA: Final = table.NEWEST_KAFKA
"""The newest release whose schemas are here."""


class Api(NamedTuple):
    """One Kafka API.

    Attributes:
        key: the API key.
        name: Kafka's name, such as `Fetch`.
        module: its module in `kdiag.wire.api`.
        versions: every version that any Kafka release spoke.
        flexible: the versions with compact lengths and tagged fields.
        newest: the versions that NEWEST_KAFKA speaks; None if it has dropped the API.
    """

    key: int
    name: str
    module: str
    versions: Versions
    flexible: Versions
    newest: Versions | None

    def request_class(self) -> type[Struct]:
        """Return the class of the request, importing its module on first use."""
        return _load(self.module, f"{self.name}Request")

    def response_class(self) -> type[Struct]:
        """Return the class of the response, importing its module on first use."""
        return _load(self.module, f"{self.name}Response")

    def request_header_version(self, version: int) -> int:
        """Return the version of the header before a request; an unknown version is like the last.

        Version 0, without a client id, stands before ControlledShutdown version 0 alone.
        """
        if self.key == api_keys.CONTROLLED_SHUTDOWN and version == 0:
            return 0
        return 2 if self.flexible.covers(version) else 1

    def response_header_version(self, version: int) -> int:
        """Return the version of the header before a response; an unknown version is like the last.

        Before ApiVersions it is 0 in every version: the client must be able to read the answer of
        a broker that does not know the version it asked in (KIP-511).
        """
        return 1 if self.key != api_keys.API_VERSIONS and self.flexible.covers(version) else 0


@cache
def _load(module: str, name: str) -> type[Struct]:
    """Return a class of an API module."""
    return cast("type[Struct]", getattr(import_module(f"kdiag.wire.api.{module}"), name))


def _api(key: int, name: str, module: str, *versions: str) -> Api:
    """Return an API, given its versions, flexible and newest versions in Kafka's notation."""
    every, flexible, newest = (Versions.parse(text) for text in versions)
    return Api(key, name, module, every, flexible, newest if newest != NO_VERSIONS else None)


APIS: Final = tuple(_api(*row) for row in table.ROWS)
"""Every API, by ascending key."""

API_BY_KEY: Final = {api.key: api for api in APIS}
"""The API of each key."""

API_NAMES: Final[dict[int | None, str]] = {api.key: api.name for api in APIS}
"""Kafka's name of the API of each key; `.get` takes an unknown key, or none, too."""

_API_BY_NAME: Final = {api.name.lower(): api for api in APIS}


def api_named(name: str) -> Api | None:
    """Return the API of that name, in upper or lower case, or None."""
    return _API_BY_NAME.get(name.lower())
