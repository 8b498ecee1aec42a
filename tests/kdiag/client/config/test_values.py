from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.client.config.keys import NUMBERS, USED
from kdiag.client.config.sources import Setting
from kdiag.client.config.values import ConfigValues, Secret
from kdiag.errors import ConfigError
from tiers.cases import for_each


def values(key: str, text: str, name: str | None = None) -> ConfigValues:
    """Return the values of one setting."""
    return ConfigValues({key: Setting(key, text, "a.properties:7", name or key)})


def test_numbers_flags_choices_and_lists_are_read() -> None:
    """White space around them counts nothing, and capitals only where Kafka heeds them."""
    assert values("request.timeout.ms", " 500 ").number("request.timeout.ms") == 500
    assert values("send.buffer.bytes", "-1").number("send.buffer.bytes") == -1
    key = "enable.ssl.certificate.verification"
    assert [values(key, text).flag(key) for text in ("true", "FALSE", "1", "0")] == [
        True,
        False,
        True,
        False,
    ]
    assert values("security.protocol", "sasl_ssl").choice("security.protocol") == "SASL_SSL"
    algorithm = "ssl.endpoint.identification.algorithm"
    assert [values(algorithm, text).choice(algorithm) for text in ("", "none", "HTTPS")] == [
        "",
        "",
        "https",
    ]
    assert values("bootstrap.servers", " a ,b,, c").words("bootstrap.servers") == ("a", "b", "c")


def test_what_nobody_gave_is_the_default() -> None:
    """Kafka's, and for the buffers the kernel's."""
    nothing = ConfigValues({})

    assert nothing.number("request.timeout.ms") == 30_000
    assert nothing.number("send.buffer.bytes") == -1
    assert nothing.flag("enable.ssl.certificate.verification") is True
    assert nothing.choice("security.protocol") == "PLAINTEXT"
    assert nothing.words("ssl.enabled.protocols") == ("TLSv1.2", "TLSv1.3")
    assert nothing.text("client.id").startswith("kdiag-")
    assert nothing.secret("sasl.password") is None
    assert nothing.path("ssl.keystore.location") is None
    assert str(nothing.wrong("a.b", "bad")) == "a.b (default): bad"


@for_each(
    ("read", "key", "text", "why"),
    [
        (ConfigValues.number, "request.timeout.ms", "30s", "a whole number, found '30s'"),
        (ConfigValues.number, "request.timeout.ms", "", "a whole number, found ''"),
        (ConfigValues.number, "request.timeout.ms", "1.5", "a whole number, found '1.5'"),
        (ConfigValues.number, "request.timeout.ms", "-1", "0 to 2147483647, found -1"),
        (ConfigValues.number, "request.timeout.ms", "2147483648", "0 to 2147483647, found"),
        (ConfigValues.number, "request.timeout.ms", "9" * 5000, "a whole number"),
        (ConfigValues.number, "request.timeout.ms", "٣", "a whole number"),
        (ConfigValues.number, "request.timeout.ms", "1_000", "a whole number"),
        (ConfigValues.flag, "enable.ssl.certificate.verification", "no", "true or false"),
        (ConfigValues.choice, "security.protocol", "TLS", "PLAINTEXT, SSL, .*found 'TLS'"),
        (ConfigValues.choice, "sasl.mechanism", "NTLM", "PLAIN, SCRAM-SHA-256"),
        (ConfigValues.path, "ssl.key.location", "~nobody.of.this.name/a", "home"),
    ],
)
def test_a_value_of_another_kind_is_told_with_file_and_line(
    read: Callable[[ConfigValues, str], object], key: str, text: str, why: str
) -> None:
    """The key is as the file names it."""
    with pytest.raises(ConfigError, match=why) as error:
        read(values(key, text, "its.name"), key)
    assert str(error.value).startswith("its.name (a.properties:7): ")


@pytest.mark.thorough
@given(st.sampled_from(sorted(NUMBERS)), st.text(max_size=30))
def test_a_number_is_read_or_refused(key: str, text: str) -> None:
    """Nothing else escapes."""
    spec = NUMBERS[key]
    with suppress(ConfigError):
        assert spec.low <= values(key, text).number(key) <= spec.high


def test_a_secret_does_not_show_itself() -> None:
    """It is a text like any other to whoever sends it."""
    secret = values("sasl.password", "s3cret").secret("sasl.password")

    assert secret == "s3cret"
    assert repr(secret) == "<redacted>"
    assert "s3cret" not in repr([Secret("s3cret")])


def test_a_path_may_start_at_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """No shell has replaced the `~` in a file."""
    monkeypatch.setenv("HOME", "/a")
    assert values("ssl.key.location", "~/k.pem").path("ssl.key.location") == "/a/k.pem"
    assert values("ssl.key.location", "").path("ssl.key.location") is None


def test_all_settings_in_force_can_be_listed() -> None:
    """By name; those that nobody gave only if they are wanted."""
    given_one = values("some.thing", "x")

    assert [each.key for each in given_one.in_force()] == ["some.thing"]
    everything = {each.key: each for each in given_one.in_force(with_defaults=True)}
    assert everything.keys() == USED | {"some.thing"}
    assert list(everything) == sorted(everything)
    assert everything["ssl.enabled.protocols"].value == "TLSv1.2,TLSv1.3"
    assert everything["retry.backoff.ms"][1:3] == ("100", "default")
