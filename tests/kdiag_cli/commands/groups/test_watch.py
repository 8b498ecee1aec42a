import json

import pytest

from programs.kdiag_program import kdiag
from scripted_kafka.group_cluster import GroupCluster
from scripted_kafka.scripted_broker import CLOSE


@pytest.mark.thorough
def test_looks_follow_one_another_with_rates(cluster: GroupCluster) -> None:
    """The first one has none."""
    looks = ("--watch", "--count", "2", "--interval", "10ms")
    done = kdiag("groups", "-b", cluster.bootstrap, "--match", "b*", *looks, "-o", "jsonl")
    first, second = map(json.loads, done.out.splitlines())
    assert (done.code, first["command"], first["schema"]) == (0, "groups", 1)
    assert first["rates"]["consumed_per_s"] is None
    assert second["rates"]["consumed_per_s"] == 0
    assert "KD3415" in done.err

    text = kdiag("groups", "-b", cluster.bootstrap, "left", *looks).out
    assert text.count("left: classic group") == 2
    assert "reads 0.0/s, written 0.0/s" in text
    table = kdiag("groups", "-b", cluster.bootstrap, *looks, "--no-headers").out
    assert len(table.splitlines()) == 8


def test_groups_that_do_not_get_on_are_found(cluster: GroupCluster) -> None:
    """Those are shown, and no others; each with why."""
    done = kdiag("groups", "-b", cluster.bootstrap, "--stuck", "--interval", "10ms", "-o", "json")
    told = json.loads(done.out)
    assert done.code == 1
    assert [each["group"] for each in told["data"]] == ["billing"]
    (why,) = [each["evidence"]["why"] for each in told["findings"] if each["id"] == "KD3415"]
    assert why == "nothing was committed, and orders[1] has records to read"


def test_a_group_that_is_not_there_is_not_watched(cluster: GroupCluster) -> None:
    """It is said as without --watch, at once, with its exit code; nothing is printed."""
    looks = ("--watch", "--count", "2", "--interval", "1h")
    done = kdiag("groups", "-b", cluster.bootstrap, "lefd", *looks)
    assert (done.code, done.out) == (1, "")
    assert "error KD3401: there is no group lefd" in done.err
    assert "such as left" in done.err


@pytest.mark.thorough
def test_a_group_that_is_missing_among_others_is_said_once(cluster: GroupCluster) -> None:
    """The others are watched; the exit code says it at the end."""
    looks = ("--watch", "--count", "2", "--interval", "10ms")
    done = kdiag("groups", "-b", cluster.bootstrap, "left", "nosuch", *looks)
    assert (done.code, done.out.count("left: classic group")) == (1, 2)
    assert done.err.count("KD3401") == 1
    cluster.brokers[2].on("ListGroups", CLOSE)
    partial = kdiag("groups", "-b", cluster.bootstrap, "left", *looks)
    assert (partial.code, partial.err.count("KD3413")) == (8, 1)
