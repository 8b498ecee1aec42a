from collections.abc import Callable
from pathlib import Path

import pytest

from kdiag.wire.client_release import client_release
from kdiag.wire.client_table import RELEASES
from kdiag.wire.schema import Versions
from kdiag_schema.client_table import CLIENTS, KnownApis, client_table_source, read_known
from kdiag_schema.maven import fetch_clients
from real_kafka.releases import VERSIONS


def known(release: str, **versions: tuple[int, int]) -> KnownApis:
    """Return what a release knows of two APIs with the keys 0 and 1."""
    keys = {"PING": 0, "PONG": 1}
    return KnownApis(
        release,
        {keys[name]: name for name in versions},
        {keys[name]: Versions(*each) for name, each in versions.items()},
    )


def test_only_changes_are_written() -> None:
    """An API without a stable version is not known, nor is one that was removed."""
    source = client_table_source(
        [
            known("0.1.0", PING=(0, 1)),
            known("0.1.1", PING=(0, 1), PONG=(0, -1)),
            known("1.0", PING=(1, 2), PONG=(0, 0)),
            known("1.1", PING=(0, -1)),
        ]
    )
    assert '    "0.1.0",\n    "0.1.1",\n    "1.0",\n    "1.1",\n' in source
    assert '    api_keys.PING: "0.1.0:0-1, 1.0:1-2, 1.1:none",\n' in source
    assert '    api_keys.PONG: "1.0:0, 1.1:none",\n' in source


def test_a_long_entry_has_lines_of_its_own() -> None:
    """As the formatter would leave them."""
    many = [known(f"1.{number}", PING=(0, number)) for number in range(30)]
    source = client_table_source(many)
    lines = source[source.index("    api_keys.PING: (") :].splitlines()
    assert all(len(each) <= 100 for each in lines)
    text = "".join(each.strip().strip('"') for each in lines[1:-2])
    assert text == ", ".join(f"1.{each}:{f'0-{each}' if each else 0}" for each in range(30))


def test_the_releases_of_the_table_are_those_that_are_fetched() -> None:
    """One patch of each minor release."""
    assert tuple(each.rpartition(".")[0] for each in CLIENTS) == RELEASES


@pytest.mark.soak
@pytest.mark.parametrize("version", VERSIONS)
def test_the_clients_themselves_say_what_the_table_says(
    get_kafka_jars: Callable[[str], Path], version: str
) -> None:
    """By their `ApiKeys`."""
    said = read_known(version, get_kafka_jars(version))
    release = client_release(version)
    assert release is not None
    assert said.release == release.name
    spoken = {key: each for key, each in said.versions.items() if each.low <= each.high}
    assert spoken == release.spoken


@pytest.mark.soak
def test_clients_without_schemas_can_be_asked(
    require_programs: Callable[..., None], tmp_path: Path
) -> None:
    """The oldest of all is asked for its `Protocol`."""
    require_programs("mvn", "java")
    said = read_known(CLIENTS[0], fetch_clients(CLIENTS[0], tmp_path))
    assert (said.release, said.names[3], said.versions[3]) == ("0.10.0", "METADATA", (0, 1))


@pytest.mark.soak
def test_jars_without_clients_are_an_error(
    require_programs: Callable[..., None], tmp_path: Path
) -> None:
    """With what Java says."""
    require_programs("java")
    with pytest.raises(ValueError, match=r"the clients of 9\.9\.9 cannot be asked: .*ApiKeys"):
        read_known("9.9.9", tmp_path)
