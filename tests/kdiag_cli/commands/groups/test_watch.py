import json

import pytest

from programs.kdiag_program import kdiag
from scripted_kafka.group_cluster import GroupCluster


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
