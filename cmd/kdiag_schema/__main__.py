"""Write the message classes from the schemas inside Kafka's jars.

To add the next Kafka, add it to CLIENTS in client_table.py, name it last here and read the diff:

    PYTHONPATH=.:cmd python -m kdiag_schema --kafka 3.9.1 --kafka 4.3.1 --kafka 4.4.0 --clients

Maven fetches the jars; `--jars DIR` names a folder that has them. Releases are named oldest first:
3.9.1 for the versions that 4.0 removed, then 4.x. The program stops at what a person has to
decide: a new API or record needs a sentence (api_purpose.py, record_purpose.py), a renamed message
a line in release.py. Then add the release to tests/rig/real_kafka/releases.py, and
tests/test_new_release.py lists every table that has to follow.

Written are kdiag/wire/api, kdiag/wire/internal and kdiag/wire/api_keys.py; files of messages that
are gone are removed. `--clients` writes two tables as well that only Java can fill, in two minutes:
kdiag/wire/client_table.py, of the releases that client_table.py here names, and
kdiag/exchange/secrets/harmless_configs.py, of those that the command names.
Nothing there is edited by hand; ruff (of the dev extra) formats it.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from kdiag_schema.client_table import CLIENT_TABLE, client_table
from kdiag_schema.config_table import CONFIG_TABLE, config_table
from kdiag_schema.maven import fetch_jars
from kdiag_schema.release import read_release
from kdiag_schema.tree import tree_of, write_tree


def main(arguments: list[str]) -> None:
    """Read the releases and write the files."""
    options = _parse(arguments)
    with tempfile.TemporaryDirectory() as folder:
        fetched = [fetch_jars(version, Path(folder)) for version in options.kafka]
        jars = [*options.jars, *fetched]
        releases = [read_release(each) for each in jars]
        tree = tree_of(releases)
        if options.clients:
            tree[CLIENT_TABLE] = client_table()
            versions = [each.version for each in releases]
            tree[CONFIG_TABLE] = config_table(list(zip(versions, jars, strict=True)))
    write_tree(tree, options.into)


def _parse(arguments: list[str]) -> argparse.Namespace:
    """Return the options `kafka`, `jars`, `clients` and `into`."""
    parser = argparse.ArgumentParser(
        prog="kdiag_schema", description="Write the message classes from Kafka's jars."
    )
    parser.add_argument(
        "--kafka",
        action="append",
        default=[],
        metavar="VERSION",
        help="a release to fetch by Maven, oldest first",
    )
    parser.add_argument(
        "--jars",
        action="append",
        default=[],
        type=Path,
        metavar="DIR",
        help="a folder with a release's jars; these are older than those of --kafka",
    )
    parser.add_argument(
        "--clients",
        action="store_true",
        help="write as well the versions that clients speak, and the settings without secrets",
    )
    parser.add_argument(
        "--into",
        type=Path,
        default=Path(__file__).parents[2],
        metavar="DIR",
        help="the repository to write to (default: this one)",
    )
    options = parser.parse_args(arguments)
    if not options.kafka and not options.jars:
        parser.error("name a release with --kafka or --jars")
    return options


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (ValueError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"kdiag_schema: {error}")
