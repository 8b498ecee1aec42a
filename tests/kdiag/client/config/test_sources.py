from pathlib import Path

import pytest

from kdiag.client.config.sources import (
    Setting,
    properties_on_command_line,
    read_settings_file,
    read_small_file,
    settings_in_environment,
    settings_of_others,
    variable_of,
)
from kdiag.errors import ConfigError
from tiers.cases import for_each

JAVA = rb"""# the client of the orders service
bootstrap.servers = kafka1:9093,\
                    kafka2:9093
! another comment

security.protocol:SASL_SSL
client.id order\u0073
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \
  username="alice" \
  password="a\\\\b=c";
ssl.truststore.location=C\:\\trust.jks
client.id=other
client.rack
"""
"""What `java.util.Properties` makes of it was compared with `TOLD` once, by Java 17."""

TOLD = [
    ("bootstrap.servers", "kafka1:9093,kafka2:9093", 2),
    ("security.protocol", "SASL_SSL", 6),
    ("client.id", "orders", 7),
    (
        "sasl.jaas.config",
        (
            "org.apache.kafka.common.security.plain.PlainLoginModule required "
            'username="alice" password="a\\\\b=c";'
        ),
        8,
    ),
    ("ssl.truststore.location", "C:\\trust.jks", 11),
    ("client.id", "other", 12),
    ("client.rack", "", 13),
]


def plain(settings: list[Setting]) -> list[tuple[str, str]]:
    """Return keys and values."""
    return [(each.key, each.value) for each in settings]


def test_java_files_are_read_as_java_reads_them(tmp_path: Path) -> None:
    """Continued lines, escapes, separators and comments; origins name file and first line."""
    file = tmp_path / "client.properties"
    file.write_bytes(JAVA)

    found = [(each.key, each.value, each.origin) for each in read_settings_file(file)]

    assert found == [(key, value, f"{file}:{line}") for key, value, line in TOLD]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_lines_are_counted_whatever_ends_them(tmp_path: Path, newline: bytes) -> None:
    """Files come from Windows too."""
    file = tmp_path / "client.properties"
    file.write_bytes(JAVA.replace(b"\n", newline))

    assert [each.origin for each in read_settings_file(file)][-1] == f"{file}:13"


def test_java_files_are_latin_1(tmp_path: Path) -> None:
    """A password in UTF-8 is to Java another password; kdiag must fail where Java fails."""
    file = tmp_path / "client.properties"
    file.write_bytes("sasl.password=ü".encode())

    assert read_settings_file(file)[0].value == "Ã¼"


def test_a_broken_escape_is_named_by_its_line(tmp_path: Path) -> None:
    """Java throws, and does not say where."""
    file = tmp_path / "client.properties"
    file.write_text("a=1\n\nsasl.password=\\u12x\n")

    with pytest.raises(ConfigError, match=r"client\.properties:3: expected four hexadecimal"):
        read_settings_file(file)


def test_kcat_files_are_read_as_kcat_reads_them(tmp_path: Path) -> None:
    """Backslashes stay, but before colons and equals signs; names are librdkafka's."""
    file = tmp_path / "kcat.conf"
    file.write_text(
        "# mine\n"
        "  metadata.broker.list=kafka1\\:9093 \n"
        "sasl.mechanisms=SCRAM-SHA-512\n"
        "\n"
        "sasl.password=a\\b\\=c=d#e\n"
        "ssl.ca.location = /etc/ca.pem\n"
        "socket.send.buffer.bytes=0\n"
    )

    found = read_settings_file(file)

    assert plain(found) == [
        ("bootstrap.servers", "kafka1:9093"),
        ("sasl.mechanism", "SCRAM-SHA-512"),
        ("sasl.password", "a\\b=c=d#e"),
        ("ssl.truststore.type", "PEM"),
        ("ssl.truststore.location", "/etc/ca.pem"),
        ("send.buffer.bytes", "-1"),
    ]
    assert (found[0].name, found[0].origin) == ("metadata.broker.list", f"{file}:2")


@pytest.mark.parametrize(
    ("data", "line", "why"),
    [
        (b"a=1\nnonsense\n", 2, "expected key=value"),
        (b"=x\n", 1, "expected key=value"),
        (b"a=1\n\xff=2\n", 2, "expected UTF-8"),
    ],
)
def test_a_line_that_is_none_is_named(tmp_path: Path, data: bytes, line: int, why: str) -> None:
    """By file and number; what it holds may be a password."""
    file = tmp_path / "librdkafka.conf"
    file.write_bytes(data)

    with pytest.raises(ConfigError) as error:
        read_settings_file(file)
    assert str(error.value) == f"{file}:{line}: {why}"


def test_a_kcat_file_may_have_any_name(tmp_path: Path) -> None:
    """A variable of kcat's tells what it is."""
    file = tmp_path / "settings"
    file.write_text("sasl.password=a\\b")

    assert plain(read_settings_file(file, is_kcat=True)) == [("sasl.password", "a\\b")]
    assert plain(read_settings_file(file)) == [("sasl.password", "ab")]


@for_each(
    ("name", "why"),
    [
        ("nothing", "No such file"),
        (".", "Is a directory"),
        ("a\0b", "null byte"),
        ("large", "larger than"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_configuration_error(
    tmp_path: Path, name: str, why: str
) -> None:
    """It says which file and why; nothing is read without bound."""
    (tmp_path / "large").write_bytes(b"#" * (1 << 20) + b"\n")

    with pytest.raises(ConfigError, match=why):
        read_small_file(tmp_path / name)
    with pytest.raises(ConfigError, match=why) as error:
        read_small_file(tmp_path / name, "sasl.password.file", "-X")
    assert error.value.key == "sasl.password.file"
    assert str(tmp_path) in str(error.value)


def test_a_property_is_split_at_its_first_equals_sign() -> None:
    """Values hold equals signs: base64, JAAS."""
    found = properties_on_command_line(["sasl.password=a=b==", " client.id =me", "client.rack="])

    assert plain(found) == [("sasl.password", "a=b=="), ("client.id", "me"), ("client.rack", "")]
    assert {each.origin for each in found} == {"-X"}


@for_each("text", ["client.id", "=x", "", " = "])
def test_a_property_without_key_or_equals_sign_is_refused(text: str) -> None:
    """Nothing of it is quoted."""
    with pytest.raises(ConfigError, match=r"^-X: expected key=value$"):
        properties_on_command_line([text])


def test_variables_are_settings_in_capitals() -> None:
    """`KDIAG_SASL_USERNAME` is `sasl.username`; librdkafka's names are translated too."""
    found, warnings = settings_in_environment(
        {
            "KDIAG_BOOTSTRAP_SERVERS": "kafka1",
            "KDIAG_SASL_MECHANISMS": "PLAIN",
            "KDIAG_PROFILE": "prod",
            "KDIAG_CONFIG": "x",
            "KDIAG_CLIENT_ID": "",
            "KDIAG_FETCH_MIN_BYTES": "1",
            "KDIAG_REFERENCE": "/somewhere",
            "CLIENT_ID": "not mine",
        }
    )

    assert plain(found) == [("bootstrap.servers", "kafka1"), ("sasl.mechanism", "PLAIN")]
    wanted = Setting("sasl.mechanism", "PLAIN", "KDIAG_SASL_MECHANISMS", "sasl.mechanisms")
    assert found[1] == wanted
    assert warnings == []
    assert variable_of("sasl.username") == "KDIAG_SASL_USERNAME"


def test_a_misspelt_variable_is_told() -> None:
    """Otherwise it would do nothing in silence."""
    found, warnings = settings_in_environment({"KDIAG_BOOTSTRAP_SERVER": "kafka1"})

    assert found == []
    assert warnings == [
        "unknown setting KDIAG_BOOTSTRAP_SERVER; did you mean KDIAG_BOOTSTRAP_SERVERS?"
    ]


def test_brokers_are_taken_from_variables_of_others() -> None:
    """The first that is set."""
    both = {"BROKERS": "b", "KAFKA_BOOTSTRAP_SERVERS": "a"}
    assert plain(settings_of_others(both)) == [("bootstrap.servers", "a")]
    assert settings_of_others({"BROKERS": "b"})[0].origin == "BROKERS"
    assert settings_of_others({}) == []


def test_the_repr_of_a_setting_shows_no_secret() -> None:
    """Tracebacks and logs are read by others."""
    setting = Setting("sasl.password", "s3cret", "-X", "sasl.password")

    assert repr(setting) == "<Setting sasl.password='<redacted>' from -X>"
    assert repr([setting]).count("s3cret") == 0
    assert setting.shown == "<redacted>"
    assert setting._replace(value="").shown == ""
    assert str(setting.wrong("bad")) == "sasl.password (-X): bad"
