"""The Python source of exchange/secrets/harmless_configs.py: the settings that hold no secret.

A broker hides the value of a setting unless it knows the type of the setting, and the type is not
PASSWORD. The types stand in the `ConfigDef`s inside the jars, so that Java is asked
(ConfigTypes.java): those of brokers, topics, groups, client metrics and clients, of each release.

Source: Kafka's `KafkaConfig.maybeSensitive`.
"""

import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from textwrap import fill
from typing import Final

CONFIG_TABLE: Final = "kdiag/exchange/secrets/harmless_configs.py"
TABLE: Final = '''\
"""The settings whose type Kafka knows and does not call PASSWORD: their values may be shown.

Of brokers, topics, groups, client metrics and clients of Kafka {releases}.

Written by `kdiag_schema --clients`; `kdiag.exchange.secrets.redaction` reads it.
"""

from typing import Final

HARMLESS_CONFIGS: Final = frozenset(
    """
{names}
""".split()  # noqa: SIM905 - 500 names as strings would be 500 lines
)
'''
_PROGRAM: Final = Path(__file__).with_name("ConfigTypes.java")
_PASSWORD: Final = "PASSWORD"  # noqa: S105 - the name of a type
_CREDENTIALS: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
"""Defined like settings, as texts, in releases with ZooKeeper; each holds a user's password."""


def config_table(releases: Sequence[tuple[str, Path]]) -> str:
    """Return the source of the table, given the number of each release and the folder of its jars.

    Raises:
        ValueError: if Java cannot read the settings of a release.
    """
    types = [read_config_types(version, jars) for version, jars in releases]
    return config_table_source([version for version, _ in releases], types)


def read_config_types(version: str, jars: Path) -> dict[str, str]:
    """Return the types of the settings that a release defines, by name.

    Args:
        version: the release.
        jars: the folder of its jars, and of those that they need.

    Raises:
        ValueError: if Java cannot read them.
    """
    own = map(str, sorted(jars.glob(f"kafka*-{version}.jar")))
    command = [shutil.which("java") or "java", "-cp", f"{jars}/*", str(_PROGRAM), *own]
    read = subprocess.run(command, check=False, capture_output=True, text=True)  # noqa: S603 - our own program
    lines = read.stdout.splitlines()
    if read.returncode or not lines:
        raise ValueError(f"the settings of {version} cannot be read: {read.stderr}")
    return {name: kind for kind, name in (line.split(maxsplit=1) for line in lines)}


def config_table_source(releases: Sequence[str], types: Iterable[Mapping[str, str]]) -> str:
    """Return the source of the table; a password in one release is a secret in all of them."""
    kinds: dict[str, set[str]] = {}
    for each in types:
        for name, kind in each.items():
            kinds.setdefault(name, set()).add(kind)
    harmless = [name for name in sorted(kinds) if _PASSWORD not in kinds[name]]
    names = fill(
        " ".join(name for name in harmless if name not in _CREDENTIALS),
        width=100,
        initial_indent="    ",
        subsequent_indent="    ",
        break_on_hyphens=False,
        break_long_words=False,
    )
    return TABLE.format(releases=", ".join(releases), names=names)
