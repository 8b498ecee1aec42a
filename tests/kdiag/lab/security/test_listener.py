import json
from pathlib import Path
from typing import Any

import confluent_kafka
import javaproperties
import pytest
from confluent_kafka import admin as foreign_admin

from kdiag.lab.broker.lab_cluster import LabCluster
from lab_ends.secure_lab import PASSWORD, USER
from programs.kdiag_program import Done, kdiag
from tiers.cases import for_each

DEADLINE_S = 30
LOGINS = [
    (protocol, mechanism)
    for protocol in ("SASL_PLAINTEXT", "SASL_SSL")
    for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
]
MODULES = {"PLAIN": "plain.PlainLoginModule", "OAUTHBEARER": "oauthbearer.OAuthBearerLoginModule"}


def settings(certificates: Path, protocol: str, mechanism: str, password: str) -> dict[str, str]:
    """Return the settings of a client of Kafka's own kind."""
    found = {"security.protocol": protocol}
    if "SSL" in protocol:
        found["ssl.truststore.type"] = "PEM"
        found["ssl.truststore.location"] = str(certificates / "ca.pem")
    if protocol == "SSL":
        found["ssl.keystore.type"] = "PEM"
        found["ssl.keystore.location"] = str(certificates / "client.pem")
    if mechanism:
        module = MODULES.get(mechanism, "scram.ScramLoginModule")
        secret = password.replace('"', '\\"')
        options = f'username="{USER}" password="{secret}"'
        if mechanism == "OAUTHBEARER":
            options = f'unsecuredLoginStringClaim_sub="{USER}"'
        login = f"org.apache.kafka.common.security.{module} required {options};"
        found |= {"sasl.mechanism": mechanism, "sasl.jaas.config": login}
    return found


def ask(lab: LabCluster, found: dict[str, str], folder: Path) -> Done:
    """Have kdiag ask for metadata."""
    file = folder / "client.properties"
    file.write_text(javaproperties.dumps(found), encoding="ascii")
    file.chmod(0o600)
    bootstrap = lab.bootstrap_of(found["security.protocol"])
    return kdiag("request", "Metadata", '{"topics":null}', "-b", bootstrap, "--config", file)


def foreign(certificates: Path, lab: LabCluster, protocol: str, mechanism: str) -> dict[str, Any]:
    """Return the settings of a client of librdkafka."""
    found: dict[str, Any] = {
        "bootstrap.servers": lab.bootstrap_of(protocol),
        "security.protocol": protocol,
        "ssl.ca.location": str(certificates / "ca.pem"),
        "log_level": 0,
    }
    if protocol == "SSL":
        found |= dict.fromkeys(
            ("ssl.certificate.location", "ssl.key.location"), str(certificates / "client.pem")
        )
    if mechanism == "OAUTHBEARER":
        found |= {
            "sasl.mechanism": mechanism,
            "enable.sasl.oauthbearer.unsecure.jwt": True,
            "sasl.oauthbearer.config": f"principal={USER} extension_trace=7",
        }
    elif mechanism:
        found |= {
            "sasl.mechanism": mechanism,
            "sasl.username": USER,
            "sasl.password": PASSWORD,
        }
    return found


@pytest.mark.thorough
@for_each(("protocol", "mechanism"), [("PLAINTEXT", ""), ("SSL", ""), *LOGINS], ids=str)
def test_kdiag_is_let_in(
    lab: LabCluster, certificates: Path, protocol: str, mechanism: str
) -> None:
    """And told the port of the listener that it came by."""
    done = ask(lab, settings(certificates, protocol, mechanism, PASSWORD), certificates)
    assert (done.code, done.err) == (0, "")
    (broker,) = json.loads(done.out)["brokers"]
    assert broker["port"] == lab.nodes[0].ports[protocol]


@pytest.mark.thorough
@for_each(("protocol", "mechanism"), [("SSL", ""), *LOGINS[:4], LOGINS[-1]], ids=str)
def test_librdkafka_is_let_in(
    lab: LabCluster, certificates: Path, protocol: str, mechanism: str
) -> None:
    """It produces and consumes."""
    common = foreign(certificates, lab, protocol, mechanism)
    errors: list[object] = []
    producer = confluent_kafka.Producer(common)
    value = f"{protocol} {mechanism}".encode()
    producer.produce("orders", value, partition=1, on_delivery=lambda *each: errors.append(each[0]))
    assert producer.flush(DEADLINE_S) == 0
    assert errors == [None]
    consumer = confluent_kafka.Consumer({**common, "group.id": "g", "enable.auto.commit": False})
    start = confluent_kafka.OFFSET_BEGINNING
    consumer.assign([confluent_kafka.TopicPartition("orders", 1, start)])
    values: list[bytes | None] = []
    while value not in values:
        values += [message.value() for message in consumer.consume(1, DEADLINE_S)]
    consumer.close()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_wrong_password_is_refused(lab: LabCluster, certificates: Path, mechanism: str) -> None:
    """By SASL_AUTHENTICATION_FAILED, which kdiag knows."""
    done = ask(lab, settings(certificates, "SASL_PLAINTEXT", mechanism, "wrong"), certificates)
    assert done.code == 4
    assert "Authentication failed" in done.err


def test_librdkafka_is_told_that_its_password_is_wrong(lab: LabCluster, certificates: Path) -> None:
    """In words of the broker."""
    errors: list[confluent_kafka.KafkaError] = []
    common = foreign(certificates, lab, "SASL_SSL", "SCRAM-SHA-256")
    wrong = {"sasl.password": "wrong", "error_cb": errors.append}
    client = confluent_kafka.Producer({**common, **wrong})
    while not errors:
        client.poll(DEADLINE_S)
    assert errors[0].code() == confluent_kafka.KafkaError._AUTHENTICATION
    assert "Authentication failed" in errors[0].str()


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_kafka_python_is_let_in(lab: LabCluster, certificates: Path, mechanism: str) -> None:
    """Over TLS."""
    kafka = pytest.importorskip("kafka")
    common = {
        "bootstrap_servers": lab.bootstrap_of("SASL_SSL"),
        "security_protocol": "SASL_SSL",
        "ssl_cafile": str(certificates / "ca.pem"),
        "sasl_mechanism": mechanism,
        "sasl_plain_username": USER,
        "sasl_plain_password": PASSWORD,
    }
    producer = kafka.KafkaProducer(**common)
    assert producer.send("orders", b"value", partition=0).get(DEADLINE_S).offset >= 0
    producer.close()


def test_tls_lets_nobody_in_without_a_certificate_where_it_is_required(
    lab: LabCluster, certificates: Path
) -> None:
    """The alert of the handshake says so."""
    found = settings(certificates, "SSL", "", "")
    del found["ssl.keystore.location"], found["ssl.keystore.type"]
    done = ask(lab, found, certificates)
    assert done.code in {3, 4}
    assert "certificate" in done.err


@pytest.mark.thorough
def test_librdkafka_sets_a_password_for_scram(lab: LabCluster, certificates: Path) -> None:
    """And whoever knows it is let in; whoever is not there any more is not."""
    admin = foreign_admin.AdminClient({"bootstrap.servers": lab.bootstrap})
    mechanism = foreign_admin.ScramMechanism.SCRAM_SHA_256  # type: ignore[attr-defined]
    info = foreign_admin.ScramCredentialInfo(mechanism, 8192)  # type: ignore[attr-defined]
    upsertion = foreign_admin.UserScramCredentialUpsertion(  # type: ignore[attr-defined]
        "bob", info, b"builder"
    )
    for future in admin.alter_user_scram_credentials([upsertion]).values():
        future.result(DEADLINE_S)
    common = foreign(certificates, lab, "SASL_PLAINTEXT", "SCRAM-SHA-256")
    common |= {"sasl.username": "bob", "sasl.password": "builder"}
    assert "orders" in foreign_admin.AdminClient(common).list_topics(timeout=DEADLINE_S).topics
    futures: Any = admin.describe_user_scram_credentials(["bob"])
    described = futures["bob"].result(DEADLINE_S)
    assert [each.iterations for each in described.scram_credential_infos] == [8192]
