import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kdiag.diagnosis.error_codes.catalog import ADVICE, KNOWN_ERRORS
from kdiag.diagnosis.error_codes.cluster import CLUSTER
from kdiag.diagnosis.error_codes.groups import GROUPS
from kdiag.diagnosis.error_codes.known_error import ErrorAdvice
from kdiag.diagnosis.error_codes.quorum import QUORUM
from kdiag.diagnosis.error_codes.records import RECORDS
from kdiag.diagnosis.error_codes.search import find_errors
from kdiag.diagnosis.error_codes.security import SECURITY
from kdiag.diagnosis.error_codes.transactions import TRANSACTIONS
from kdiag.wire.catalog import API_BY_KEY, NEWEST_KAFKA
from kdiag.wire.error_code import CODE_BY_NAME
from real_kafka.oracle_tables import names
from tiers.cases import for_each

PRINT_SETTINGS = """
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import org.apache.kafka.common.config.ConfigDef;

public class PrintSettings {
    public static void main(String[] classes) throws Exception {
        for (String name : classes) {
            for (Field field : Class.forName(name).getDeclaredFields()) {
                boolean defines = ConfigDef.class.isAssignableFrom(field.getType());
                if (defines && Modifier.isStatic(field.getModifiers())) {
                    field.setAccessible(true);
                    ((ConfigDef) field.get(null)).names().forEach(System.out::println);
                }
            }
        }
    }
}
"""
CONFIG_CLASSES = (
    "org.apache.kafka.server.config.AbstractKafkaConfig",
    "org.apache.kafka.clients.producer.ProducerConfig",
    "org.apache.kafka.clients.consumer.ConsumerConfig",
    "org.apache.kafka.storage.internals.log.LogConfig",
    "org.apache.kafka.coordinator.group.GroupConfig",
)
NO_SETTINGS_OF_KAFKA_NOW = {
    "cluster.id",  # of the file
    "java.util",  # a package
    "log.message.format.version",  # before 4.0
    "meta.properties",
    "metadata.version",  # a feature
    "queue.buffering.max.messages",  # of librdkafka
    "ssl.ca.location",  # of librdkafka
}


GROUP_APIS = {
    "JoinGroup",
    "OffsetCommit",
    "OffsetFetch",
    "OffsetDelete",
    "DeleteGroups",
    "ConsumerGroupHeartbeat",
    "StreamsGroupHeartbeat",
    "ReadShareGroupState",
    "StreamsGroupTopologyDescriptionUpdate",
}
SECURITY_APIS = {
    "Metadata",
    "FindCoordinator",
    "InitProducerId",
    "SaslHandshake",
    "SaslAuthenticate",
    "DescribeAcls",
    "CreateDelegationToken",
    "RenewDelegationToken",
    "DescribeDelegationToken",
    "AlterUserScramCredentials",
    "Envelope",
}
QUORUM_APIS = {
    "Vote",
    "FetchSnapshot",
    "BrokerRegistration",
    "BrokerHeartbeat",
    "UnregisterController",
    "DescribeQuorum",
    "AddRaftVoter",
    "RemoveRaftVoter",
}


def run_java(source: str, name: str, jars: Path, folder: Path, *arguments: str) -> list[str]:
    """Return the lines that a Java program prints."""
    path = folder / f"{name}.java"
    path.write_text(source)
    command = ["java", "-cp", f"{jars}/*", str(path), *arguments]
    done = subprocess.run(command, capture_output=True, check=True, text=True)
    return done.stdout.splitlines()


def sentences() -> list[str]:
    """Return every cause and every fix."""
    return [text for error in KNOWN_ERRORS for text in (*error.causes, error.fix)]


def test_there_is_advice_on_every_error_of_kafka_and_on_nothing_else() -> None:
    """A new error of a new Kafka fails this until somebody has written about it."""
    assert set(ADVICE) == set(CODE_BY_NAME)


def test_advice_is_given_in_sentences() -> None:
    """Each cause is one; none is told twice for one error."""
    assert [text for text in sentences() if not text.endswith((".", "?"))] == []
    for error in KNOWN_ERRORS:
        assert error.source == "librdkafka" or error.causes
        assert len(set(error.causes)) == len(error.causes)


def test_apis_are_called_as_kafka_calls_them() -> None:
    """They are what `kdiag decode --api` takes."""
    names = {api.name for api in API_BY_KEY.values()}

    assert {api for error in KNOWN_ERRORS for api in error.apis} <= names


@for_each(
    ("advice", "apis"),
    [
        (RECORDS, {"Produce", "Fetch", "ShareFetch", "ShareAcknowledge", "ListOffsets"}),
        (GROUPS, GROUP_APIS),
        (
            TRANSACTIONS,
            {"InitProducerId", "EndTxn", "AddPartitionsToTxn"}
            | {"WriteTxnMarkers", "DescribeTransactions"},
        ),
        (SECURITY, SECURITY_APIS),
        (QUORUM, QUORUM_APIS),
    ],
    ids=["records", "groups", "transactions", "security", "quorum"],
)
def test_an_error_is_told_by_an_api_of_its_subject(
    advice: dict[str, ErrorAdvice], apis: set[str]
) -> None:
    """Each module has the errors of what its name says."""
    assert {name for name, each in advice.items() if apis.isdisjoint(each.apis)} == set()


def test_what_any_request_may_meet_names_no_api() -> None:
    """A broker that fails, is missing or hangs up does so whatever was asked."""
    anywhere = {name for name, each in CLUSTER.items() if not each.apis}

    assert anywhere == {
        "BROKER_NOT_AVAILABLE",
        "NETWORK_EXCEPTION",
        "NONE",
        "UNKNOWN_SERVER_ERROR",
    }


def test_no_code_and_no_name_is_given_twice() -> None:
    """Those of librdkafka lie below those of Kafka."""
    assert len({error.code for error in KNOWN_ERRORS}) == len(KNOWN_ERRORS)
    assert len({error.name for error in KNOWN_ERRORS}) == len(KNOWN_ERRORS)


def test_errors_that_advice_refers_to_are_known() -> None:
    """`kdiag errcode NAME` is said only where it helps."""
    for text in sentences():
        for name in re.findall(r"\b_?[A-Z]{3,}(?:_[A-Z]+)+\b", text):
            is_operation = name in {"CLUSTER_ACTION", "IDEMPOTENT_WRITE", "CREATE_TOKENS"}
            is_protocol = name == "SASL_PLAINTEXT"
            assert is_operation or is_protocol or len(find_errors(name)) == 1, name


def test_exceptions_are_those_that_the_newest_kafka_throws() -> None:
    """Kafka's own enumeration is the judge."""
    theirs = {(each["name"], each["exception"]) for each in names(NEWEST_KAFKA)["Errors"]}
    ours = {(error.name, error.java_exception) for error in KNOWN_ERRORS if error.source == "kafka"}

    assert ours == theirs


@pytest.mark.soak
def test_settings_that_advice_names_exist_in_the_newest_kafka(
    get_kafka_jars: Callable[[str], Path], tmp_path: Path
) -> None:
    """Nobody is sent to look for a setting that is not there."""
    jars = get_kafka_jars(NEWEST_KAFKA)
    theirs = set(run_java(PRINT_SETTINGS, "PrintSettings", jars, tmp_path, *CONFIG_CLASSES))
    named = {
        word for text in sentences() for word in re.findall(r"(?<![\w-])[a-z]+(?:\.[a-z]+)+", text)
    }

    assert len(named) > 40
    assert named - theirs == NO_SETTINGS_OF_KAFKA_NOW
