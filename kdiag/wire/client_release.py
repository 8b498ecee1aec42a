"""The clients of a Kafka release: which versions of each API they speak.

`client_release("2.8.1")` is the minor release 2.8: patch releases speak alike. Clients speak no
version that may still change, and the oldest here are those of 0.10.0, the first that can ask a
broker for its versions.

Source: `ApiKeys` in the clients' jar of each release.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import Final, NamedTuple

from kdiag.wire.catalog import Api
from kdiag.wire.client_table import RELEASES, SPOKEN
from kdiag.wire.schema import NO_VERSIONS, Versions

CLIENT_RELEASES: Final = RELEASES
"""The minor releases, oldest first."""

_RELEASE: Final = re.compile(r"(0\.\d+\.\d+|[1-9]\d*\.\d+)(\.\d+)?", re.ASCII)


class ClientRelease(NamedTuple):
    """The clients of one release.

    Attributes:
        name: the minor release, such as `2.8`.
        spoken: the versions that they speak, by API key; keys that they do not know are left out.
    """

    name: str
    spoken: Mapping[int, Versions]

    def versions(self, api: Api) -> Versions:
        """Return the versions of an API that they speak; none if they do not know it."""
        return self.spoken.get(api.key, NO_VERSIONS)

    def __repr__(self) -> str:
        return f"<ClientRelease {self.name}>"


@cache
def client_release(text: str) -> ClientRelease | None:
    """Return the clients of a release, such as `2.8` or `2.8.1`; None for an unknown one."""
    match = _RELEASE.fullmatch(text)
    if match is None or match[1] not in RELEASES:
        return None
    until = RELEASES[: RELEASES.index(match[1]) + 1]
    spoken = {key: _versions(changes, until) for key, changes in SPOKEN.items()}
    known = {key: versions for key, versions in spoken.items() if versions != NO_VERSIONS}
    return ClientRelease(match[1], known)


def spoken_versions(api: Api, release: ClientRelease | None) -> Versions:
    """Return the versions of an API that kdiag speaks, as the clients of a release if one is given.

    There are none if these do not know the API.
    """
    return api.versions if release is None else release.versions(api)


def _versions(changes: str, until: tuple[str, ...]) -> Versions:
    """Return the versions after the last change in one of these releases."""
    versions = NO_VERSIONS
    for change in changes.split(", "):
        release, _, text = change.partition(":")
        if release not in until:
            break
        versions = Versions.parse(text)
    return versions
