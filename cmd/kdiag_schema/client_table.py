"""The Python source of wire/client_table.py: what the clients of each Kafka release speak.

`ApiKeys` in the clients' jar of each release is asked (KnownVersions.java): the schemas beside it
say the same from 2.2 on, and before that there are none. Patch releases of a minor one speak alike;
only 4.0.0 has no JoinGroup 0 and 1, which 4.0.1 speaks again.
"""

import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap
from typing import Final, NamedTuple

from kdiag.wire.schema import NO_VERSIONS, Versions
from kdiag_schema.maven import fetch_clients

CLIENTS: Final = (
    *("0.10.0.1", "0.10.1.1", "0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1"),
    *("2.0.1", "2.1.1", "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.3", "2.7.2", "2.8.2"),
    *("3.0.2", "3.1.2", "3.2.3", "3.3.2", "3.4.1", "3.5.2", "3.6.2", "3.7.2", "3.8.1", "3.9.2"),
    *("4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0"),
)
"""The last patch of each minor release, from the first whose clients can ask for versions on."""

CLIENT_TABLE: Final = "kdiag/wire/client_table.py"
TABLE: Final = '''\
"""The versions of each API that the clients of a Kafka release speak.

`2.7:0-12` means versions 0 to 12 from release 2.7 on, until the next that is named; before the
first the API is not known.

Written by `kdiag_schema --clients`; `kdiag.wire.client_release` reads it.
"""

from typing import Final

from kdiag.wire import api_keys

RELEASES: Final = (
{releases})
"""The minor releases, oldest first."""

SPOKEN: Final = {{
{rows}}}
'''
_PROGRAM: Final = Path(__file__).with_name("KnownVersions.java")
_LINE: Final = 101
"""The longest line, with its end."""

_TEXT: Final = 89
"""The longest text of a line of its own."""


class KnownApis(NamedTuple):
    """What the clients of one release speak.

    Attributes:
        release: the minor release.
        names: the API keys under the names of `ApiKeys`.
        versions: the versions of each key.
    """

    release: str
    names: Mapping[int, str]
    versions: Mapping[int, Versions]


def client_table() -> str:
    """Fetch the clients of every release, ask them, and return the source of the table.

    Raises:
        FileNotFoundError: if there is no Maven.
        subprocess.CalledProcessError: if Maven fails; it has said why.
        ValueError: if Java cannot run the clients.
    """
    with tempfile.TemporaryDirectory() as folder:
        return client_table_source(
            [read_known(version, fetch_clients(version, Path(folder))) for version in CLIENTS]
        )


def read_known(version: str, jars: Path) -> KnownApis:
    """Return what the clients in a folder of jars speak.

    Raises:
        ValueError: if Java cannot run them.
    """
    command = [shutil.which("java") or "java", "-cp", f"{jars}/*", str(_PROGRAM)]
    said = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - our own program
    if said.returncode:
        raise ValueError(f"the clients of {version} cannot be asked: {said.stderr}")
    rows = [line.split() for line in said.stdout.splitlines()]
    return KnownApis(
        version.rpartition(".")[0],
        {int(key): name for key, name, _, _ in rows},
        {int(key): Versions(int(low), int(high)) for key, _, low, high in rows},
    )


def client_table_source(known: Sequence[KnownApis]) -> str:
    """Return the source of kdiag/wire/client_table.py, given the releases, oldest first."""
    names = {key: name for each in known for key, name in each.names.items()}
    releases = "".join(f'    "{each.release}",\n' for each in known)
    rows = "".join(_row(names[key], _changes(key, known)) for key in sorted(names))
    return TABLE.format(releases=releases, rows=rows)


def _changes(key: int, known: Sequence[KnownApis]) -> list[str]:
    """Return the releases that changed the versions of an API, each with its range."""
    changes = []
    before = NO_VERSIONS
    for each in known:
        now = each.versions.get(key, NO_VERSIONS)
        if now != before:
            changes.append(f"{each.release}:{now}")
        before = now
    return changes


def _row(name: str, changes: Sequence[str]) -> str:
    """Return the entry of an API; none if no client speaks it."""
    if not changes:
        return ""
    line = f'    api_keys.{name}: "{", ".join(changes)}",\n'
    if len(line) <= _LINE:
        return line
    *others, last = wrap(", ".join(changes), _TEXT)
    body = "".join(f'        "{each} "\n' for each in others)
    return f'    api_keys.{name}: (\n{body}        "{last}"\n    ),\n'
