from pathlib import Path

import pytest

from kdiag.client.connect import connect
from kdiag.errors import ConfigError, ConnectError
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from scripted_kafka.scripted_cluster import ScriptedCluster


def test_a_client_knows_its_cluster_and_asks_it() -> None:
    """By the servers alone."""
    with ScriptedCluster(2) as cluster, connect(cluster.bootstrap) as client:
        answer = client.ask_any(MetadataRequest(), MetadataResponse)

        assert [each.id for each in client.brokers] == [1, 2]
        assert len(answer.brokers) == 2


def test_settings_come_by_any_name_and_from_a_file(tmp_path: Path) -> None:
    """What is given here counts more than the file."""
    with ScriptedCluster(1) as cluster:
        file = tmp_path / "client.properties"
        file.write_text(f"bootstrap.servers={cluster.bootstrap}\nclient.id=file\n")
        with connect(settings={"client.id": "me"}, config_file=file) as client:
            assert client.settings.network.client_id == "me"


def test_the_environment_counts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program says itself whom it asks."""
    monkeypatch.setenv("KDIAG_BOOTSTRAP_SERVERS", "localhost:1")

    with pytest.raises(ConfigError, match="name a broker"):
        connect()


def test_a_misspelt_setting_is_a_warning_of_pythons() -> None:
    """It names the place that asked."""
    with (
        ScriptedCluster(1) as cluster,
        pytest.warns(UserWarning, match="reqest.timeout.ms") as told,
        connect(cluster.bootstrap, {"reqest.timeout.ms": "5"}),
    ):
        assert told[0].filename == __file__


def test_nobody_there_is_an_error_in_the_time_given() -> None:
    """And nothing stays open."""
    with pytest.raises(ConnectError, match=":1: TCP"):
        connect("127.0.0.1:1", timeout_ns=300_000_000)
