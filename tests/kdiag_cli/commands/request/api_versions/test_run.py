"""`kdiag api-versions` on scripted brokers."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from kdiag.wire.api.api_versions import (
    ApiVersion,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)
from kdiag_cli.commands.request.api_versions.run import NodeLabel
from programs.kdiag_program import Done, kdiag
from scripted_kafka.scripted_broker import CLOSE, offering
from scripted_kafka.scripted_cluster import ScriptedCluster


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Two brokers that speak all that kdiag knows."""
    with ScriptedCluster(2) as cluster:
        yield cluster


def versions(cluster: ScriptedCluster, *arguments: str) -> Done:
    """Run the command."""
    return kdiag("api-versions", "-b", cluster.bootstrap, *arguments)


def cells(done: Done) -> list[list[str]]:
    """Return the table."""
    return [line.split("\t") for line in done.out.splitlines()]


def document(done: Done) -> dict[str, Any]:
    """Return the document."""
    found = json.loads(done.out)
    assert isinstance(found, dict)
    return found


def test_brokers_that_agree_share_a_column(cluster: ScriptedCluster) -> None:
    """Nothing on stderr."""
    done = versions(cluster)
    assert (done.code, done.err) == (0, "")
    assert cells(done)[0] == ["KEY", "API", "BROKERS", "USABLE", "NOTE"]
    assert ["3", "Metadata", "0-13", "0-13", "-"] in cells(done)
    assert cells(versions(cluster, "--wide"))[0] == ["KEY", "API", "1", "2", "USABLE", "NOTE"]


@pytest.mark.thorough
def test_brokers_that_differ_stand_side_by_side(cluster: ScriptedCluster) -> None:
    """What they share is usable; the difference is marked, and a finding."""
    cluster.brokers[2].on("ApiVersions", offering(Metadata=(0, 9), ListGroups=(0, -1)))
    done = versions(cluster, "--api", "Metadata", "--api", "ListGroups", "-a", "Fetch")
    assert cells(done) == [
        ["KEY", "API", "1", "2", "USABLE", "NOTE"],
        ["1", "Fetch", "0-18", "0-18", "0-18", "-"],
        ["3", "Metadata", "0-13", "0-9", "0-9", "mixed"],
        ["16", "ListGroups", "0-5", "-", "none", "mixed, no version is shared"],
    ]
    assert "warning KD5001" in done.err
    assert "Metadata, ListGroups" in done.err
    assert done.code == 0
    assert versions(cluster, "--fail-on", "warning").code == 1


def test_the_trap_of_kip_896_is_told(cluster: ScriptedCluster) -> None:
    """Brokers from 4.0 on advertise Produce 0-2 and refuse it."""
    cluster.on("ApiVersions", offering(Produce=(0, 13), Fetch=(4, 18)))
    done = versions(cluster, "--api", "produce")
    assert cells(done)[1] == ["0", "Produce", "0-13", "3-13", "0-2 are refused"]
    assert "info KD5002: Produce v0-2 is advertised but refused" in done.err


def test_an_old_client_can_use_less(cluster: ScriptedCluster) -> None:
    """The versions that it shares with the brokers."""
    apis = ("--api", "Metadata", "--api", "DescribeTopicPartitions")
    done = versions(cluster, *apis, "--as-version", "2.8")
    assert cells(done)[1:] == [
        ["3", "Metadata", "0-13", "0-11", "-"],
        ["75", "DescribeTopicPartitions", "0", "none", "not known to clients of that release"],
    ]


def test_apis_that_kdiag_does_not_know_are_listed_by_number(cluster: ScriptedCluster) -> None:
    """A broker may be newer."""
    keys = [ApiVersion(18, 0, 4), ApiVersion(3, 0, 13), ApiVersion(999, 0, 1)]
    cluster.on("ApiVersions", ApiVersionsResponse(api_keys=keys))
    done = versions(cluster)
    assert cells(done)[-1] == ["999", "-", "0-1", "none", "not known to kdiag"]


def test_json_has_a_row_for_each_api(cluster: ScriptedCluster) -> None:
    """With what each broker advertises, and null for what it has not."""
    cluster.brokers[2].on("ApiVersions", offering(ListGroups=(0, -1)))
    found = document(versions(cluster, "-a", "ListGroups", "-o", "json"))
    address = "127.0.0.1:{}"
    assert (found["schema"], found["command"]) == (1, "api-versions")
    assert found["data"] == [
        {
            "api_key": 16,
            "api": "ListGroups",
            "known": {"min": 0, "max": 5},
            "usable": None,
            "refused": None,
            "mixed": True,
            "brokers": [
                {
                    "node_id": 1,
                    "address": address.format(cluster.brokers[1].port),
                    "versions": {"min": 0, "max": 5},
                },
                {
                    "node_id": 2,
                    "address": address.format(cluster.brokers[2].port),
                    "versions": None,
                },
            ],
        }
    ]
    assert [each["id"] for each in found["findings"]] == ["KD5001"]


def test_features_are_shown_with_their_release(cluster: ScriptedCluster) -> None:
    """What brokers support beside what the cluster has switched on."""
    for number, newest in ((1, 30), (2, 27)):
        answer = offering()
        answer.supported_features = [SupportedFeatureKey("metadata.version", 7, newest)]
        answer.finalized_features = [FinalizedFeatureKey("metadata.version", 27, 27)]
        answer.finalized_features_epoch = 5
        cluster.brokers[number].on("ApiVersions", answer)
    assert cells(versions(cluster, "--features")) == [
        ["FEATURE", "1", "2", "FINALIZED", "RELEASE"],
        ["metadata.version", "7-30", "7-27", "27", "4.1-IV1"],
    ]
    (row,) = document(versions(cluster, "--features", "-o", "json"))["data"]
    assert (row["feature"], row["finalized"], row["release"]) == (
        "metadata.version",
        27,
        "4.1-IV1",
    )
    assert row["brokers"][1]["versions"] == {"min": 7, "max": 27}


def test_a_broker_that_is_down_makes_the_result_partial(cluster: ScriptedCluster) -> None:
    """The others are shown; if nobody answers, that is the error."""
    bootstrap = f"127.0.0.1:{cluster.brokers[1].port}"
    cluster.brokers[2].stop()
    done = kdiag("api-versions", "-b", bootstrap, "--wide")
    assert done.code == 8
    assert cells(done)[0] == ["KEY", "API", "1", "USABLE", "NOTE"]
    assert "KD3007: broker 2 at 127.0.0.1" in done.err
    done = kdiag("api-versions", "-b", bootstrap, "--to", "2")
    assert (done.code, done.out) == (3, "")


def test_bootstrap_servers_are_shown_by_their_address(cluster: ScriptedCluster) -> None:
    """Without Metadata, which a controller has not; each column is the one it is headed by."""
    cluster.on("Metadata", CLOSE)
    cluster.brokers[2].on("ApiVersions", offering(Fetch=(4, 17)))
    one, two = (broker.port for broker in cluster.brokers.values())
    done = versions(cluster, "--to", "bootstrap", "-a", "Fetch")
    head, row = cells(done)
    told = dict(zip(head, row, strict=True))
    assert (told[f"127.0.0.1:{one}"], told[f"127.0.0.1:{two}"]) == ("0-18", "4-17")


def test_a_broker_that_does_not_exist_is_wrong_usage(cluster: ScriptedCluster) -> None:
    """Those that do are named."""
    done = versions(cluster, "--to", "9")
    assert (done.code, done.out) == (2, "")
    assert "no broker 9; it has 1, 2" in done.err


def test_a_node_is_called_by_its_number_if_it_has_one() -> None:
    """A controller that nobody advertises has its address."""
    assert NodeLabel(2, "kafka:9092").text == "2"
    assert NodeLabel(None, "kafka:9093").text == "kafka:9093"
