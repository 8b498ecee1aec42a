import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from kdiag.client.config.servers import BootstrapServer
from kdiag.errors import ConfigError
from kdiag.wire.client_release import client_release
from kdiag_cli.options.live import (
    BootstrapServers,
    ConfigFile,
    LiveFormat,
    LiveOptions,
    OutputFormat,
    PasswordFile,
    Profile,
    Properties,
    Trace,
    Write,
    check_topic,
    client_config,
    complete_profiles,
    complete_releases,
)
from kdiag_cli.options.results import Timeout
from kdiag_cli.output.result import ResultFormat
from programs.kdiag_program import Screen

SECOND_NS = 1_000_000_000


def parse(*arguments: str) -> LiveOptions:
    """Return what the options of a live command say."""
    found = []

    def command(  # noqa: PLR0913 - a parameter for each option
        *,
        bootstrap_server: BootstrapServers = None,
        properties: Properties = None,
        config: ConfigFile = None,
        profile: Profile = None,
        password_file: PasswordFile = None,
        timeout: Timeout = None,
        output: OutputFormat = LiveFormat.TABLE,
        trace: Trace = False,
        write: Write = None,
    ) -> None:
        sources = (bootstrap_server, properties, config, profile, password_file)
        found.append(LiveOptions(*sources, timeout, output.result, trace=trace, write=write))

    app = typer.Typer(add_completion=False)
    app.command()(command)
    done = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return found[0]


def test_options_have_the_names_that_fingers_know() -> None:
    """Those of Apache's tools, of kcat, of kcl and of rpk."""
    for name in ("-b", "--bootstrap-server", "--bootstrap-servers"):
        assert parse(name, "a,b", name, "c").bootstrap_servers == ["a,b", "c"]
    for name in ("--config", "--command-config"):
        assert parse(name, "client.properties").config_file == Path("client.properties")
    for name in ("--profile", "--context"):
        assert parse(name, "prod").profile == "prod"
    for name in ("-o", "--output"):
        assert parse(name, "json").output is ResultFormat.JSON
    assert parse("-X", "a=b=c", "-X", "d=").properties == ["a=b=c", "d="]
    options = parse("--timeout", "3s", "--trace", "--write", "a.pcap", "--password-file", "p")
    assert options == LiveOptions(
        password_file=Path("p"), timeout_ns=3 * SECOND_NS, trace=True, write=Path("a.pcap")
    )
    assert parse() == LiveOptions()


def test_options_count_more_than_everything_else(tmp_path: Path) -> None:
    """Brokers of several options are one list; the password is read from its file."""
    password = tmp_path / "password"
    password.write_text("s3cret\n")
    options = LiveOptions(
        bootstrap_servers=["a:1,b", "c"],
        properties=[
            "bootstrap.servers=x",
            "security.protocol=SASL_SSL",
            "sasl.mechanism=PLAIN",
            "sasl.username=alice",
        ],
        password_file=password,
    )
    environment = {"KDIAG_SASL_PASSWORD": "weaker", "KDIAG_CLIENT_ID": "me"}

    config = client_config(options, environment)

    assert config.bootstrap_servers == tuple(map(BootstrapServer, "abc", (1, 9092, 9092)))
    assert config.sasl is not None
    assert (config.sasl.username, config.sasl.password) == ("alice", "s3cret")
    assert config.client_id == "me"


def test_a_release_to_speak_as_is_an_option() -> None:
    """A shell completes those that are known."""
    config = client_config(LiveOptions(["a"], as_version="2.8"), {"KDIAG_AS_VERSION": "3.7"})
    assert config.as_version == client_release("2.8")
    assert complete_releases()[-3:] == ["4.2", "4.3", "4.4"]


def test_files_and_profiles_are_handed_on(tmp_path: Path) -> None:
    """The command line names them, and the file of profiles lies at home."""
    (tmp_path / "kdiag").mkdir()
    (tmp_path / "kdiag" / "config.toml").write_text("[profiles.p]\nbootstrap.servers = 'a'\n")
    (tmp_path / "client.properties").write_text("client.rack=r\n")
    options = LiveOptions(config_file=tmp_path / "client.properties", profile="p")

    config = client_config(options, {"XDG_CONFIG_HOME": str(tmp_path)})

    assert (config.bootstrap_servers, config.client_rack) == ((BootstrapServer("a"),), "r")


USER = LiveOptions(
    bootstrap_servers=["a"],
    properties=["security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", "sasl.username=al\x1bice"],
)


def test_a_password_that_nobody_gave_is_asked_for_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Once, whoever needs it; what the shell completes asks for nothing."""
    asked: list[str] = []

    def getpass(prompt: str, _: object) -> str:
        asked.append(prompt)
        return "s3cret"

    monkeypatch.setattr("getpass.getpass", getpass)
    monkeypatch.setattr(sys, "stderr", Screen(is_terminal=True))
    monkeypatch.setattr(sys, "stdin", Screen(is_terminal=True))
    with pytest.raises(ConfigError, match="needs a password"):
        client_config(USER, {}, can_ask=False)
    for _ in range(2):
        sasl = client_config(USER, {}).sasl
        assert sasl is not None
        assert sasl.password == "s3cret"
    assert asked == ["Password of al\\x1bice: "]


def test_nobody_is_asked_in_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """A script gets the error at once."""
    monkeypatch.setattr(sys, "stdin", Screen(is_terminal=False))
    with pytest.raises(ConfigError, match=r"sasl.password.file"):
        client_config(USER, {})


def test_somebody_must_name_a_broker() -> None:
    """The message says how."""
    with pytest.raises(ConfigError, match="give -b HOST:PORT"):
        client_config(LiveOptions(), {})


def test_profiles_are_those_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a file, or with one that is broken, there is nothing to offer."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert complete_profiles() == []
    file = tmp_path / "kdiag" / "config.toml"
    file.parent.mkdir()
    file.write_text('[profiles.dev]\na = "1"\n[profiles.prod]\na = "1"\n')
    assert complete_profiles() == ["dev", "prod"]
    file.write_text("[profiles")
    assert complete_profiles() == []


def test_what_is_said_about_topics_goes_together() -> None:
    """A topic to be written to is named, and is not only to be read."""
    check_topic(None, reads_only=True, writes_to_topic=False)
    check_topic("orders", reads_only=False, writes_to_topic=True)
    for topic, reads_only in ((None, False), ("orders", True)):
        with pytest.raises(typer.BadParameter):
            check_topic(topic, reads_only=reads_only, writes_to_topic=True)
