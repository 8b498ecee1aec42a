from datetime import UTC, timedelta, timezone
from pathlib import Path

import pytest
import typer

from kdiag_cli.commands.rebalance.options import Named, read_names, read_zone
from kdiag_cli.options.live import LiveOptions
from tiers.cases import for_each


@for_each(
    ("text", "zone"),
    [
        ("Z", UTC),
        ("UTC", UTC),
        ("+02:00", timezone(timedelta(hours=2))),
        ("-0330", timezone(-timedelta(hours=3, minutes=30))),
        ("+00:00", timezone(timedelta(0))),
    ],
)
def test_the_zone_of_logs_is_an_offset(text: str, zone: timezone) -> None:
    """With or without a colon."""
    assert read_zone(text).utcoffset(None) == zone.utcoffset(None)


@for_each("text", ["", "2", "+2:00", "+19:00", "+01:60", "local"])
def test_what_is_not_a_zone_of_logs_is_said(text: str) -> None:
    """With what one may write; logs of brokers are not of this machine."""
    with pytest.raises(typer.BadParameter, match=r"such as \+02:00 or"):
        read_zone(text)


def test_without_a_cluster_every_argument_is_a_capture() -> None:
    """Whether it is there or not: that is said when it is opened."""
    assert read_names(["orders"], LiveOptions()) == Named(["orders"], (), is_cluster_asked=False)


def test_with_a_cluster_an_argument_is_a_group_unless_it_is_a_file(tmp_path: Path) -> None:
    """Any option that names a cluster counts."""
    capture = tmp_path / "traffic.pcap"
    capture.touch()
    for live in (
        LiveOptions(bootstrap_servers=["h:1"]),
        LiveOptions(profile="prod"),
        LiveOptions(properties=["bootstrap.servers=h:1"]),
        LiveOptions(config_file=tmp_path / "client.properties"),
    ):
        named = read_names([str(capture), "orders"], live)
        assert named == Named([str(capture)], ["orders"], is_cluster_asked=True)


def test_settings_may_name_the_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """But not for what looks like a capture that is not there."""
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "h:1")

    assert read_names(["orders"], LiveOptions()) == Named([], ["orders"], is_cluster_asked=True)
    for name in ("missing.pcap", "there/missing", "a.pcapng.gz"):
        assert read_names([name], LiveOptions()) == Named([name], (), is_cluster_asked=False)
