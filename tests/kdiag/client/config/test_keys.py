from pathlib import Path

import pytest

from kdiag.client.config.keys import (
    ALTERNATIVES,
    IMPLICATIONS,
    TRANSLATIONS,
    TYPES,
    UNSUPPORTED,
    USED,
    VALUES,
    is_accepted,
    is_secret,
    near_names,
)
from real_kafka.oracle_tables import names
from real_kafka.releases import NEWEST
from tiers.cases import for_each

SETTINGS = {
    "java": [each["name"] for each in names(NEWEST)["setting"]],
    "librdkafka": Path(__file__).with_name("librdkafka_settings.txt").read_text().split(),
}


@pytest.mark.parametrize("clients", SETTINGS)
def test_every_setting_of_kafkas_clients_is_known(clients: str) -> None:
    """A configuration that serves an application gives no warning about its names."""
    settings = SETTINGS[clients]
    known = {*USED, *TRANSLATIONS, *UNSUPPORTED}
    assert [name for name in settings if name not in known and not is_accepted(name)] == []
    assert len(settings) > 100


def test_translations_lead_to_settings_that_are_used() -> None:
    """And what a name or a value implies is said about such settings too."""
    assert set(TRANSLATIONS.values()) <= USED
    assert {key for key, _ in IMPLICATIONS.values()} <= USED
    assert {name for name, _ in VALUES} <= set(TRANSLATIONS)
    assert {key for keys in ALTERNATIVES for key in keys} | set(TYPES) | set(TYPES.values()) <= USED
    assert not USED & set(TRANSLATIONS)


@for_each(
    ("name", "meant"),
    [
        ("reqest.timeout.ms", "request.timeout.ms"),
        ("security_protocol", "security.protocol"),
        ("bootstrap.server", "bootstrap.servers"),
        ("SASL.MECHANISM", "sasl.mechanism"),
        ("ssl.truststore.path", "ssl.truststore.type"),
    ],
)
def test_a_misspelt_name_is_near_the_one_that_was_meant(name: str, meant: str) -> None:
    """Underscores, hyphens and capitals count nothing."""
    assert meant in near_names(name)


def test_some_names_are_near_nothing() -> None:
    """Then there is nothing to suggest."""
    assert near_names("colour.of.the.sky") == []


@for_each(
    "name",
    [
        "sasl.password",
        "sasl.jaas.config",
        "sasl.oauthbearer.token",
        "ssl.keystore.key",
        "ssl.key.pem",
        "basic.auth.user.info",
        "sasl.oauthbearer.client.secret",
        "my.own.password",
        "my.api.key",
        "connection.string",
        "metric.reporters.license",
        "queue.buffering.max.secret",
    ],
)
def test_secrets_are_known_by_their_name(name: str) -> None:
    """Also those that kdiag does not use: they are in the same file."""
    assert is_secret(name)


@for_each(
    "name",
    [
        "sasl.username",
        "sasl.password.file",
        "sasl.oauthbearer.token.endpoint.url",
        "queue.buffering.max.ms",
        "linger.ms",
        "bootstrap.servers",
    ],
)
def test_what_stands_beside_secrets_is_none(name: str) -> None:
    """Who logs in and where from may be shown, and what Kafka's clients or librdkafka know."""
    assert not is_secret(name)


def test_passwords_are_the_only_settings_of_kafkas_clients_that_are_hidden() -> None:
    """What else is hidden is unknown to them."""
    assert {name for name in SETTINGS["java"] if is_secret(name)} == {
        "sasl.jaas.config",
        "sasl.oauthbearer.assertion.private.key.passphrase",
        "sasl.oauthbearer.client.credentials.client.secret",
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.password",
        "ssl.truststore.certificates",
        "ssl.truststore.password",
    }
