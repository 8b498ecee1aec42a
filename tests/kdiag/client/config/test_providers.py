from pathlib import Path

import pytest

from kdiag.client.config.providers import provider_kinds, replaced
from kdiag.client.config.sources import Setting
from kdiag.errors import ConfigError
from tiers.cases import for_each

PACKAGE = "org.apache.kafka.common.config.provider."


def setting(key: str, value: str) -> Setting:
    """Return a setting of some file."""
    return Setting(key, value, "client.properties:3", key)


def value_of(text: str, environment: dict[str, str] | None = None, **more: str) -> str:
    """Return what a value becomes; `more` gives names of providers their classes."""
    settings = {
        f"config.providers.{name}.class": setting(f"config.providers.{name}.class", cls)
        for name, cls in more.items()
    }
    if more:
        settings["config.providers"] = setting("config.providers", " , ".join(more))
    kinds = provider_kinds(settings)
    return replaced(setting("sasl.password", text), kinds, environment or {}).value


def test_variables_files_and_folders_are_read(tmp_path: Path) -> None:
    """The three providers that Kafka brings along, under their usual names."""
    (tmp_path / "secrets.properties").write_text("other=1\npassword = pass\\u0077ord\n")
    (tmp_path / "token").write_text("from a mounted secret\n")

    assert value_of("${env:PASSWORD}", {"PASSWORD": "p"}) == "p"
    assert value_of(f"${{file:{tmp_path}/secrets.properties:password}}") == "password"
    assert value_of(f"${{dir:{tmp_path}:token}}") == "from a mounted secret\n"


def test_references_may_stand_inside_a_value() -> None:
    """As in a JAAS configuration; what they lead to is not looked at again."""
    assert value_of('u="${env:A}" p="${env:B}";', {"A": "a", "B": "${env:A}"}) == (
        'u="a" p="${env:A}";'
    )


def test_providers_have_the_names_that_the_configuration_gives_them() -> None:
    """Classes may be given with or without their package."""
    assert value_of("${secrets:A}", {"A": "a"}, secrets=f"{PACKAGE}EnvVarConfigProvider") == "a"
    assert value_of("${secrets:A}", {"A": "a"}, secrets="EnvVarConfigProvider") == "a"


@for_each("text", ["${vault:a:b}", "${}", "${env}", "$env:A", "100% ${"])
def test_what_is_no_reference_stays(text: str) -> None:
    """It may be a part of a password."""
    assert text == value_of(text)


@for_each(
    ("text", "why"),
    [
        ("${env:GONE}", r"\$GONE is not set"),
        ("${file:/nowhere/a.properties:b}", "/nowhere/a.properties: No such file"),
        ("${dir:/nowhere:b}", "/nowhere/b: No such file"),
        ("${file:b}", "No such file|Is a directory"),
    ],
)
def test_a_reference_that_leads_nowhere_is_told(text: str, why: str) -> None:
    """Kafka's clients would take it for the password itself."""
    with pytest.raises(ConfigError, match=why) as error:
        value_of(text)
    assert (error.value.key, error.value.origin) == ("sasl.password", "client.properties:3")


def test_a_key_that_is_not_in_its_file_is_told(tmp_path: Path) -> None:
    """By its name and the file's."""
    (tmp_path / "a.properties").write_text("a=1")
    with pytest.raises(ConfigError, match=r"there is no b in .*a\.properties"):
        value_of(f"${{file:{tmp_path}/a.properties:b}}")
    (tmp_path / "binary").write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="binary is not UTF-8"):
        value_of(f"${{dir:{tmp_path}:binary}}")


def test_a_provider_that_only_java_can_load_is_refused() -> None:
    """Its secrets are out of reach."""
    with pytest.raises(ConfigError, match="expected 'vault' to be one of EnvVarConfigProvider"):
        value_of("x", vault="com.example.VaultConfigProvider")
    with pytest.raises(ConfigError, match="expected 'vault'"):
        provider_kinds({"config.providers": setting("config.providers", "vault")})
