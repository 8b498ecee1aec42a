import ast
from collections.abc import Callable
from pathlib import Path

import pytest

from kdiag.exchange.secrets import harmless_configs
from kdiag.exchange.secrets.harmless_configs import HARMLESS_CONFIGS
from kdiag_schema.config_table import config_table, config_table_source, read_config_types
from real_kafka.releases import NEWEST, VERSIONS


def names_in(source: str) -> set[str]:
    """Return the names of a table's source."""
    [text] = [
        each.value
        for each in ast.walk(ast.parse(source))
        if isinstance(each, ast.Constant) and str(each.value).startswith("\n")
    ]
    assert isinstance(text, str)
    return set(text.split())


def test_a_password_of_one_release_is_in_no_table() -> None:
    """Nor is a credential that a release with ZooKeeper defines like a setting."""
    source = config_table_source(
        ["1.0.0", "2.0.0"],
        [
            {"retention.ms": "LONG", "my.key": "PASSWORD", "SCRAM-SHA-256": "STRING"},
            {"retention.ms": "LONG", "my.key": "STRING", "listeners": "LIST"},
        ],
    )
    assert names_in(source) == {"retention.ms", "listeners"}
    assert "Kafka 1.0.0, 2.0.0." in source


def test_long_tables_have_lines_of_one_width() -> None:
    """As the formatter leaves them, and with no name in two parts."""
    names = {f"some.setting-{number}.ms": "LONG" for number in range(99)}
    source = config_table_source(["1.0.0"], [names])
    assert all(len(line) <= 100 for line in source.splitlines())
    assert names_in(source) == names.keys()


def test_the_table_is_of_the_releases_that_tests_run_against() -> None:
    """It is made with the message classes."""
    assert f"Kafka {', '.join(VERSIONS)}." in str(harmless_configs.__doc__)


@pytest.mark.soak
@pytest.mark.real
@pytest.mark.parametrize("version", VERSIONS)
def test_kafka_itself_defines_what_the_table_has(
    get_kafka_jars: Callable[[str], Path], version: str
) -> None:
    """Brokers, topics, groups, client metrics and clients; nothing of them is left out."""
    types = read_config_types(version, get_kafka_jars(version))
    passwords = {name for name, kind in types.items() if kind == "PASSWORD"}
    assert passwords & HARMLESS_CONFIGS == set()
    assert types.keys() - passwords - HARMLESS_CONFIGS <= {"SCRAM-SHA-256", "SCRAM-SHA-512"}
    assert {"ssl.keystore.password", "delegation.token.secret.key"} <= passwords
    assert {"log.retention.ms", "cleanup.policy", "linger.ms", "interval.ms"} <= types.keys()
    assert {"group.consumer.session.timeout.ms", "consumer_byte_rate"} <= types.keys()


@pytest.mark.soak
def test_the_table_is_what_the_program_writes(get_kafka_jars: Callable[[str], Path]) -> None:
    """Nothing in it was edited by hand."""
    written = config_table([(version, get_kafka_jars(version)) for version in VERSIONS])
    assert names_in(written) == HARMLESS_CONFIGS


@pytest.mark.soak
def test_jars_without_settings_are_an_error(
    require_programs: Callable[..., None], tmp_path: Path
) -> None:
    """With what Java says."""
    require_programs("java")
    with pytest.raises(ValueError, match=rf"the settings of {NEWEST} cannot be read: "):
        read_config_types(NEWEST, tmp_path)
