from pathlib import Path

import pytest

from kdiag.client.config.profiles import profile_names, profiles_file, read_profile
from kdiag.errors import ConfigError
from tiers.cases import for_each

TOML = """
current = "dev"

[profiles.dev]
bootstrap.servers = "localhost:9092"

[profiles.prod]
config = "prod.properties"
bootstrap.servers = ["kafka1:9093", "kafka2:9093"]
request.timeout.ms = 5000
enable.ssl.certificate.verification = false
"sasl.mechanisms" = "PLAIN"

[profiles.home]
config = "~/kafka.properties"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a file with three profiles."""
    path = tmp_path / "config.toml"
    path.write_text(TOML)
    return path


def test_the_names_of_all_profiles_are_told(file: Path, tmp_path: Path) -> None:
    """Of a file that is not there, none."""
    assert profile_names(file) == ["dev", "prod", "home"]
    assert profile_names(tmp_path / "missing.toml") == []
    file.write_text("profiles = 3")
    assert profile_names(file) == []


def test_a_profile_is_found_by_its_name(file: Path) -> None:
    """Dotted keys, lists, numbers and flags all become texts; names may be librdkafka's."""
    profile = read_profile(file, "prod")

    assert profile is not None
    assert (profile.name, profile.file) == ("prod", str(file.parent / "prod.properties"))
    assert {each.key: each.value for each in profile.settings} == {
        "bootstrap.servers": "kafka1:9093,kafka2:9093",
        "request.timeout.ms": "5000",
        "enable.ssl.certificate.verification": "false",
        "sasl.mechanism": "PLAIN",
    }
    assert {each.origin for each in profile.settings} == {f"{file} profile prod"}


def test_the_current_profile_is_that_without_a_name(file: Path) -> None:
    """There need not be one, nor a file."""
    current = read_profile(file, None)
    assert current is not None
    assert (current.name, current.file) == ("dev", None)

    file.write_text("[profiles.dev]\n")
    assert read_profile(file, None) is None
    assert read_profile(file.with_name("other.toml"), None) is None


def test_a_path_may_start_at_home(file: Path) -> None:
    """Any other is relative to the folder of the profiles."""
    profile = read_profile(file, "home")
    assert profile is not None
    assert profile.file == "~/kafka.properties"


def test_a_profile_that_is_not_there_is_told_with_those_that_are(file: Path) -> None:
    """And who asked for it."""
    with pytest.raises(ConfigError) as error:
        read_profile(file, "stage", "KDIAG_PROFILE")
    assert str(error.value) == (
        f"KDIAG_PROFILE: there is no profile 'stage' in {file}; there are: dev, prod, home"
    )


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("current = 'gone'", "there is no profile 'gone'.*there are: none"),
        ("current = 7", "there is no profile 7"),
        ("profiles = 3", "there is no profile 'dev'"),
        ("[profiles]\ndev = 1", "there is no profile 'dev'"),
        ("[profiles.dev]\na = 1.5", r"a \(.*profile dev\): expected a text"),
        ("[profiles.dev]\na.b = [1]", r"a\.b \(.*profile dev\): expected a text"),
        ("[profiles.dev\n", "line 1"),
        ("a = " + "[" * 10_000, "config.toml: "),
    ],
)
def test_a_file_that_is_none_is_a_configuration_error(file: Path, text: str, why: str) -> None:
    """It says what is wrong and where."""
    file.write_text(text)

    with pytest.raises(ConfigError, match=why):
        read_profile(file, None if "current" in text else "dev")


def test_a_file_that_is_no_text_is_a_configuration_error(file: Path) -> None:
    """TOML is UTF-8."""
    file.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="expected UTF-8"):
        read_profile(file, "dev")
    with pytest.raises(ConfigError, match="No such file"):
        read_profile(file.with_name("gone.toml"), "dev")


@for_each(
    ("environment", "expected"),
    [
        ({"HOME": "/a"}, "/a/.config/kdiag/config.toml"),
        ({"HOME": "/a", "XDG_CONFIG_HOME": "/etc/a"}, "/etc/a/kdiag/config.toml"),
        ({"HOME": "/a", "XDG_CONFIG_HOME": "a"}, "/a/.config/kdiag/config.toml"),
        ({"HOME": "/a", "XDG_CONFIG_HOME": ""}, "/a/.config/kdiag/config.toml"),
    ],
)
def test_profiles_are_kept_where_configurations_are(
    environment: dict[str, str], expected: str
) -> None:
    """A relative folder is none, as the specification of those folders says."""
    assert str(profiles_file(environment)) == expected
