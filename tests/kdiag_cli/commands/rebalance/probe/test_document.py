from group_stories.probed_groups import probed_group
from kdiag_cli.commands.rebalance.probe.document import probe_document


def test_a_group_tells_how_it_was_set_up() -> None:
    """And then step by step what was done."""
    document = probe_document(probed_group())
    steps = document.pop("steps")

    assert document == {
        "group": "_kdiag_probe_1",
        "protocol": "classic",
        "assignor": "range",
        "rebalance_protocol": "eager",
        "static": False,
        "members": 4,
        "partitions": 6,
        "session_timeout_ms": 6000.0,
        "heartbeat_interval_ms": 2000.0,
        "metadata_max_age_ms": 1000.0,
    }
    assert [each["cause"] for each in steps] == ["group_formed", "member_failed"]
    assert steps[0].keys() == steps[1].keys()


def test_a_step_tells_how_long_partitions_had_no_owner() -> None:
    """A gap that has not ended lasts as long as the step."""
    _, step = probe_document(probed_group())["steps"]

    assert (step["waits_for"], step["session_ms"]) == ("session.timeout.ms", 5000.0)
    assert (step["noticed_ms"], step["settled_ms"]) == (6500.0, 7000.0)
    assert (step["partitions"], step["unowned"], step["moved"]) == (6, 2, 2)
    assert (step["longest_unowned_ms"], step["total_unowned_ms"]) == (7000.0, 8000.0)
    assert step["longest_unread_ms"] == 7050.0
    assert [(each["from"], each["to"], each["unowned_ms"]) for each in step["gaps"]] == [
        ("probe-5", "probe-1", 7000.0),
        ("probe-5", None, 1000.0),
    ]
    assert step["first_reads"] == [{"member": "probe-1", "read_ms": 7050.0}]
    [rebalance] = step["rebalances"]
    assert rebalance["phases"][0]["join_ms"] == 400.0
