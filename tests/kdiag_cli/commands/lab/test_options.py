from pathlib import Path

import pytest
import typer

from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag_cli.commands.lab.options import (
    LabListener,
    LabOptions,
    LabSetting,
    check_listeners,
    check_nodes,
    read_fault,
    read_fault_files,
    read_listener,
    read_mechanism,
    read_setting,
    read_topic,
)
from tiers.cases import for_each


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("orders", NewTopic("orders")),
        ("orders:3", NewTopic("orders", 3)),
        ("orders:3:2", NewTopic("orders", 3, 2)),
    ],
)
def test_a_topic_is_read(text: str, topic: NewTopic) -> None:
    """Numbers that are left out are the cluster's defaults."""
    assert read_topic(text) == topic


@for_each("text", ["", "a/b", "a:", "a:x", "a:-1", "a:1:1:1", "a:99999999999", "a:\u0661"])
def test_what_is_no_topic_is_refused(text: str) -> None:
    """With what was expected."""
    with pytest.raises(typer.BadParameter):
        read_topic(text)


def test_a_lab_has_one_to_nine_brokers() -> None:
    """More are refused."""
    assert [check_nodes(1), check_nodes(9)] == [1, 9]
    for nodes in (0, 10):
        with pytest.raises(typer.BadParameter, match="a lab has 1 to 9"):
            check_nodes(nodes)


def test_settings_of_brokers_go_where_they_belong() -> None:
    """Groups, replication, and the sessions of brokers themselves."""
    names = ("group.max.size=3", "replica.lag.time.max.ms=500", "broker.session.timeout.ms=2000")
    settings = tuple(map(read_setting, names))
    options = LabOptions((), "::1", 0, None, "4.3", is_json=False, settings=settings)
    assert options.group_config.group_max_size == 3
    assert options.replication_config.replica_lag_time_max_ms == 500
    assert options.session_timeout_ns == 2 * 10**9
    assert options._replace(settings=()).session_timeout_ns == 9 * 10**9


@pytest.mark.parametrize(
    ("text", "listener"),
    [
        ("SASL_SSL", LabListener("SASL_SSL")),
        ("ssl:9093", LabListener("SSL", 9093)),
        ("sasl-plaintext:0", LabListener("SASL_PLAINTEXT")),
    ],
)
def test_a_listener_is_read(text: str, listener: LabListener) -> None:
    """However its protocol is written."""
    assert read_listener(text) == listener


@for_each("text", ["", "TLS", "SSL:", "SSL:x", "SSL:65536", "SSL:-1", "SSL:9:9"])
def test_what_is_no_listener_is_refused(text: str) -> None:
    """With what was expected."""
    with pytest.raises(typer.BadParameter):
        read_listener(text)


def test_a_protocol_has_one_listener() -> None:
    """Without any it is PLAINTEXT; --tls is one more."""
    assert check_listeners(None) == (LabListener("PLAINTEXT"),)
    assert check_listeners(None, is_tls=True) == (LabListener("SSL"),)
    both = check_listeners([LabListener("PLAINTEXT", 1)], is_tls=True)
    assert both == (LabListener("PLAINTEXT", 1), LabListener("SSL"))
    with pytest.raises(typer.BadParameter, match="has one listener"):
        check_listeners([LabListener("SSL", 1)], is_tls=True)


def test_a_mechanism_is_one_of_four() -> None:
    """In any case of letters."""
    assert read_mechanism("scram-sha-256") == "SCRAM-SHA-256"
    with pytest.raises(typer.BadParameter, match="OAUTHBEARER"):
        read_mechanism("GSSAPI")


def test_settings_of_brokers_have_kafkas_names() -> None:
    """Those that a lab does not have are named."""
    setting = read_setting("group.initial.rebalance.delay.ms=0")
    assert setting == LabSetting("group.initial.rebalance.delay.ms", 0)
    options = LabOptions((), "", 0, None, "4.3", is_json=False, settings=(setting,))
    assert options.group_config.group_initial_rebalance_delay_ms == 0
    assert options.group_config.group_min_session_timeout_ms == 6000


@for_each("text", ["", "num.partitions=3", "group.max.size", "group.max.size=-1"])
def test_what_is_no_setting_is_refused(text: str) -> None:
    """With those that there are."""
    with pytest.raises(typer.BadParameter):
        read_setting(text)


def test_a_fault_that_is_wrong_is_wrong_usage(tmp_path: Path) -> None:
    """It says where."""
    assert read_fault("Fetch delay=1s").match.apis == ("Fetch",)
    with pytest.raises(typer.BadParameter, match="column 7"):
        read_fault("Fetch dely=1s")
    with pytest.raises(typer.BadParameter, match="cannot be read"):
        read_fault_files([tmp_path / "absent"])
