import json
import shlex
from pathlib import Path

import pytest

from kdiag.client.config.keys import USED
from kdiag_cli.commands.config.command import EXAMPLES
from programs.kdiag_program import kdiag
from tiers.cases import for_each

PROPERTIES = """bootstrap.servers=kafka1:9093
security.protocol=SASL_SSL
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\
  username="alice" password="s3cret";
ssl.truststore.location=/etc/trust.jks
ssl.truststore.password=s3cret
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder with a client.properties, the home of somebody with a profile."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for variable in ("XDG_CONFIG_HOME", "KDIAG_PROFILE", "KDIAG_CONFIG", "KCAT_CONFIG", "BROKERS"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.delenv("KAFKA_BOOTSTRAP_SERVERS", raising=False)
    (tmp_path / "client.properties").write_text(PROPERTIES)
    profiles = tmp_path / ".config" / "kdiag"
    profiles.mkdir(parents=True)
    (profiles / "config.toml").write_text("[profiles.prod]\nbootstrap.servers = 'prod1,prod2'\n")
    return tmp_path


def test_settings_are_shown_with_where_they_were_said() -> None:
    """In a pipe with tabs; options first, then the file; secrets nowhere."""
    done = kdiag(
        *("config", "show", "--origin", "--config", "client.properties"),
        *("-b", "kafka9", "-X", "socket.timeout.ms=500"),
    )

    assert [line.split("\t") for line in done.out.splitlines()] == [
        ["KEY", "VALUE", "ORIGIN"],
        ["bootstrap.servers", "kafka9", "--bootstrap-server"],
        ["request.timeout.ms", "500", "-X as socket.timeout.ms"],
        ["sasl.jaas.config", "<redacted>", "client.properties:4"],
        ["sasl.mechanism", "PLAIN", "client.properties:3"],
        ["sasl.password", "<redacted>", "client.properties:4 as sasl.jaas.config"],
        ["sasl.username", "alice", "client.properties:4 as sasl.jaas.config"],
        ["security.protocol", "SASL_SSL", "client.properties:2"],
        ["ssl.truststore.location", "/etc/trust.jks", "client.properties:6"],
        ["ssl.truststore.password", "<redacted>", "client.properties:7"],
    ]
    assert (done.code, done.err) == (0, "")


@pytest.mark.thorough
@for_each("command", [("check",), ("api-versions",), ("config", "show"), ("lab", "proxy")])
def test_a_file_starts_its_program_only_with_the_switch(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    """The error is one line with the switch; the program of the file is not started."""
    file = tmp_path / "from-someone.properties"
    file.write_text(
        "bootstrap.servers=127.0.0.1:1\nsecurity.protocol=SASL_PLAINTEXT\n"
        f"sasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.token.command=touch {tmp_path}/marker\n"
    )
    done = kdiag(*command, "--config", file)
    assert done.code == 2
    assert done.err.count("\n") == 1
    assert "would start 'touch" in done.err
    assert "add --allow-programs if you trust that file" in done.err
    assert "would start" not in kdiag(*command, "--config", file, "--allow-programs").err
    assert not (tmp_path / "marker").exists()  # no connection got as far as its login


def test_without_origin_there_are_two_columns() -> None:
    """Whoever asks for no more gets no more."""
    assert kdiag("config", "show", "-b", "a").out == "KEY\tVALUE\nbootstrap.servers\ta\n"


def test_json_is_one_document(monkeypatch: pytest.MonkeyPatch) -> None:
    """Always with origins; what is likely a mistake is among the warnings."""
    monkeypatch.setenv("KDIAG_SASL_PASSWORD", "s3cret")
    monkeypatch.setenv("KDIAG_CLIENT_IDS", "me")

    done = kdiag("config", "show", "-o", "json", "--profile", "prod")

    document = json.loads(done.out)
    assert (document["schema"], document["command"]) == (1, "config show")
    toml = Path(".config", "kdiag", "config.toml").absolute()
    assert document["data"] == [
        {
            "key": "bootstrap.servers",
            "value": "prod1,prod2",
            "origin": f"{toml} profile prod",
            "name": "bootstrap.servers",
        },
        {
            "key": "sasl.password",
            "value": "<redacted>",
            "origin": "KDIAG_SASL_PASSWORD",
            "name": "sasl.password",
        },
    ]
    assert document["warnings"] == [
        "unknown setting KDIAG_CLIENT_IDS; did you mean KDIAG_CLIENT_ID?"
    ]
    assert (done.code, done.err) == (0, "")


def test_defaults_are_shown_when_they_are_asked_for() -> None:
    """Every setting that kdiag heeds."""
    lines = kdiag("config", "show", "--defaults", "--origin").out.splitlines()[1:]

    assert {line.split("\t")[0] for line in lines} == USED
    assert "request.timeout.ms\t30000\tdefault" in lines


def test_a_configuration_that_cannot_be_used_is_shown_nevertheless() -> None:
    """That is when one wants to see it; what is wrong is on stderr, and the exit code is 2."""
    done = kdiag("config", "show", "-X", "security.protocol=SASL_SSL", "--origin")

    assert "security.protocol\tSASL_SSL\t-X" in done.out
    assert done.err.startswith("kdiag: sasl.mechanism (default): GSSAPI (Kerberos) is not")
    assert done.code == 2


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--config", "gone.properties"], "gone.properties: No such file or directory"),
        (["--profile", "gone"], "--profile: there is no profile 'gone'"),
        (["-X", "nonsense"], "-X: expected key=value"),
    ],
)
def test_a_source_that_cannot_be_read_is_a_usage_error(arguments: list[str], why: str) -> None:
    """Nothing is shown then: it would be wrong."""
    done = kdiag("config", "show", *arguments)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith(f"kdiag: {why}")


def test_what_is_likely_a_mistake_is_told_beside_the_table() -> None:
    """On stderr."""
    done = kdiag("config", "show", "-X", "reqest.timeout.ms=1")

    assert "reqest.timeout.ms\t<redacted>" in done.out
    assert "did you mean request.timeout.ms?" in done.err
    assert done.code == 0


def example_arguments() -> list[list[str]]:
    """Return the arguments of each example in the help."""
    lines = [line.strip() for line in EXAMPLES.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("kdiag ")]


@for_each("arguments", example_arguments(), ids=" ".join)
def test_the_examples_in_the_help_run(arguments: list[str]) -> None:
    """They are typed as they stand by whoever reads them."""
    done = kdiag(*arguments)

    assert (done.code, done.err) == (0, "")
    assert "s3cret" not in done.out


def test_the_help_tells_what_counts() -> None:
    """And every option."""
    out = kdiag("config", "show", "--help").out

    for text in ("--origin", "--defaults", "--profile", "KDIAG_BOOTSTRAP_SERVERS", "KCAT_CONFIG"):
        assert text in out
    assert len(example_arguments()) == 5
    assert kdiag("config").code == 0
