from pathlib import Path

import pytest

from kdiag.client.config.other_programs import ImportedProfile, read_other_file
from kdiag.errors import ConfigError
from tiers.cases import for_each

KCL = """\
seed_brokers = ["a:9092", "b:9092"]
timeout_ms = 1000
[tls]
ca_cert_path = "ca.pem"
client_cert_path = "cert.pem"
client_key_path = "key.pem"
[sasl]
method = "scram_sha_256"
user = "alice"
pass = "s3cret"
zid = "z"
"""
RPK = """\
version: 7
current_profile: prod
profiles:
    - name: local
      kafka_api:
        brokers:
            - 127.0.0.1:9092
        sasl: {}
    - name: prod
      kafka_api:
        brokers: [a:9092, b:9092]
        tls: {}
        sasl:
            user: alice
            password: s3cret
            mechanism: SCRAM-SHA-512
"""
KAFKACTL = """\
contexts:
  old:
    brokers:
    - a:9092
    tlsCA: my-ca
  off:
    brokers: [b:9092]
    tls:
      enabled: false
      ca: my-ca
  open:
    brokers: [c:9092]
    tls:
      enabled: true
      insecure: true
    clientID: 0123
    avro:
      schemaRegistry: r
current-context: off
"""


def profiles(folder: Path, name: str, text: str) -> list[ImportedProfile]:
    """Return the profiles in a file of this name."""
    file = folder / name
    file.write_text(text)
    return read_other_file(file)


def test_kcl_has_one(tmp_path: Path) -> None:
    """With TLS where there is a table of it."""
    [profile] = profiles(tmp_path, "config.toml", KCL)

    assert profile.settings == {
        "bootstrap.servers": "a:9092,b:9092",
        "ssl.ca.location": "ca.pem",
        "ssl.certificate.location": "cert.pem",
        "ssl.key.location": "key.pem",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "alice",
        "sasl.password": "s3cret",
        "security.protocol": "SASL_SSL",
    }
    assert (profile.name, profile.left_out) == ("kcl", ["timeout_ms", "sasl.zid"])


def test_rpk_has_profiles(tmp_path: Path) -> None:
    """An empty `tls` asks for it, an empty `sasl` for nothing."""
    local, prod = profiles(tmp_path, "rpk.yaml", RPK)

    assert (local.name, local.is_current) == ("local", False)
    assert local.settings == {"bootstrap.servers": "127.0.0.1:9092"}
    assert (prod.name, prod.is_current) == ("prod", True)
    assert prod.settings["security.protocol"] == "SASL_SSL"
    assert prod.settings["sasl.password"] == "s3cret"


def test_kafkactl_has_contexts(tmp_path: Path) -> None:
    """TLS is on where it is enabled, or named as of old."""
    old, off, public = profiles(tmp_path, "config.yml", KAFKACTL)

    assert old.settings["security.protocol"] == "SSL"
    assert off.settings == {"bootstrap.servers": "b:9092"}
    assert off.is_current
    assert public.settings["enable.ssl.certificate.verification"] == "false"
    assert (public.settings["client.id"], public.left_out) == ("0123", ["avro"])


def test_files_of_settings_become_profiles_by_their_name(tmp_path: Path) -> None:
    """Librdkafka's and Java's."""
    [kcat] = profiles(tmp_path, "kcat.conf", "metadata.broker.list=a:1\nssl.ca.location=c\n")
    [java] = profiles(tmp_path, "test.properties", "bootstrap.servers = a:1\nclient.id: me\n")

    assert (kcat.name, kcat.settings["bootstrap.servers"]) == ("kcat", "a:1")
    assert kcat.settings["ssl.truststore.type"] == "PEM"
    assert java == ImportedProfile(
        "test", {"bootstrap.servers": "a:1", "client.id": "me"}, [], is_current=True
    )


@pytest.mark.thorough
@for_each(
    ("name", "text", "why"),
    [
        ("a.yaml", "x: 1\n", "expected `contexts`"),
        ("a.yaml", "", "expected `contexts`"),
        ("a.yaml", "a: [b\n", "expected YAML: .* line 2"),
        ("a.yaml", "a: &x [b]\nc: *x\n", "line 2: aliases are not supported"),
        ("a.yaml", "[" * 600 + "]" * 600, "expected YAML: maximum recursion"),
        ("a.yaml", "a: \0", "expected YAML: unacceptable character"),
        ("a.toml", "x", "expected TOML"),
    ],
)
def test_other_files_are_refused(name: str, text: str, why: str, tmp_path: Path) -> None:
    """With the file and the reason."""
    with pytest.raises(ConfigError, match=why):
        profiles(tmp_path, name, text)
