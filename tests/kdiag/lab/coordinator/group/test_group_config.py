from kdiag.lab.coordinator.group.group_config import GroupClient, GroupCoordinatorConfig


def test_the_defaults_are_those_of_kafka() -> None:
    """Under Kafka's names."""
    config = GroupCoordinatorConfig()._asdict()
    assert config["group_initial_rebalance_delay_ms"] == 3_000
    assert config["offsets_retention_minutes"] == 7 * 24 * 60
    assert config["group_min_session_timeout_ms"] == 6_000
    assert all(name.startswith(("group_", "offset")) for name in config)


def test_a_client_is_known_by_name_and_address() -> None:
    """And by the version that it speaks."""
    client = GroupClient("billing-1", "/127.0.0.1", 9)
    assert (client.client_id, client.client_host, client.version) == ("billing-1", "/127.0.0.1", 9)
