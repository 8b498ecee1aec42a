import gzip
import json
from pathlib import Path

import pytest

from group_stories.record_story import RecordStory, pair_of, shared
from group_stories.recorded_groups import cuts, recorded_group, write_group
from kdiag.probe.group_records import TOPIC
from programs.kdiag_program import Done, kdiag
from scripted_kafka.log_cluster import LogCluster

NAME = "reb_crash_confluent"


def explain(*arguments: object) -> Done:
    """Run the command."""
    return kdiag("rebalance", "explain", *arguments)


def test_a_log_may_be_packed(tmp_path: Path) -> None:
    """Whatever its name is."""
    _, log = write_group(NAME, tmp_path)
    packed = tmp_path / "server.log.2026-11-21"
    packed.write_bytes(gzip.compress(log.read_bytes()))

    assert explain("--broker-log", packed).out == explain("--broker-log", log).out


def test_a_folder_of_logs_is_read(tmp_path: Path) -> None:
    """Rolled and packed files, in any order; other files are not looked at."""
    recorded = recorded_group(NAME)
    middle = len(recorded.log) // 2
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "server.log").write_text("\n".join(recorded.log[middle:]), encoding="utf-8")
    older = "\n".join(recorded.log[:middle]).encode()
    (folder / "server.log.1.gz").write_bytes(gzip.compress(older))
    (folder / "controller.txt").write_bytes(b"\0\1")
    _, whole = write_group(NAME, tmp_path)

    assert explain("--broker-log", folder).out == explain("--broker-log", whole).out


def test_a_cut_log_is_read_up_to_there(tmp_path: Path) -> None:
    """Exit code 8, and what is good is delivered."""
    _, log = write_group(NAME, tmp_path)
    cut = tmp_path / "cut.gz"
    cut.write_bytes(gzip.compress(log.read_bytes() + bytes(1000))[:-30])
    done = explain("--broker-log", cut)

    assert done.code == 8
    assert "cut.gz: cut or damaged, read up to there" in done.err
    assert "member joined" in done.out


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    """Exit code 2; so is a folder without logs."""
    for place, why in ((tmp_path / "no.log", "no such file"), (tmp_path, "no file named *.log*")):
        done = explain("--broker-log", place)
        assert (done.code, done.out) == (2, "")
        assert why in done.err


def test_a_log_without_groups_says_so(tmp_path: Path) -> None:
    """Even one that is not text."""
    log = tmp_path / "server.log"
    log.write_bytes(bytes(range(256)) * 500)
    done = explain("--broker-log", log)

    assert done.code == 0
    assert "no line about the rebalances of a group in 1 log" in done.err


@pytest.mark.thorough
def test_what_a_capture_cannot_tell_is_counted(tmp_path: Path) -> None:
    """One that has the answers alone."""
    pieces = dict(cuts(recorded_group(NAME).capture, "any"))
    capture = tmp_path / "answers.pcap"
    capture.write_bytes(pieces["responses"])
    done = explain(capture)

    assert "are not in the capture; they may be about groups" in done.err
    assert "no group was seen to join" in done.err


def test_the_zone_of_a_log_moves_its_times(tmp_path: Path) -> None:
    """Of a broker two hours east of Greenwich."""
    _, log = write_group(NAME, tmp_path)
    here, east = (
        explain("--broker-log", log, "--log-zone", zone).out.splitlines()[1].split("\t")[3]
        for zone in ("Z", "+02:00")
    )

    assert int(here[11:13]) - int(east[11:13]) == 2
    assert here[13:] == east[13:]


def test_records_of_a_cluster_are_a_source(tmp_path: Path) -> None:
    """Beside captures and logs; how far back they reach is told."""
    story = RecordStory()
    story.classic(41, shared("a"))
    story.classic(42, shared("a", "b"))
    with LogCluster(1) as cluster:
        log = cluster.add(TOPIC, 0)
        for record in story.records:
            log.append_pairs(pair_of(record), timestamp=record.at_ns // 1_000_000)
        done = explain("-b", cluster.bootstrap, "orders", "-o", "json")
        _, server_log = write_group(NAME, tmp_path)
        both = explain("-b", cluster.bootstrap, "--broker-log", server_log)
    document = json.loads(done.out)
    (group,) = document["data"]

    assert done.code == 0
    assert (group["group"], group["source"]) == ("orders", "offsets")
    assert [each["cause"] for each in group["rebalances"]] == ["unknown", "member_joined"]
    (warning,) = document["warnings"]
    assert "group orders: the records reach back to 1970-01-01T00:00:02" in warning
    assert "(generation 41); compaction has removed those before" in warning
    assert {line.split("\t")[0] for line in both.out.splitlines()[1:]} == {"orders", "grp-crash"}


def test_a_group_that_the_cluster_does_not_know_is_said() -> None:
    """So is a cluster that has never had a group."""
    with LogCluster(1) as cluster:
        none = explain("-b", cluster.bootstrap, "orders")
        cluster.add(TOPIC, 0)
        unknown = explain("-b", cluster.bootstrap, "orders")

    assert (none.code, unknown.code) == (0, 0)
    assert "the cluster has no topic __consumer_offsets: no group has been used yet" in none.err
    assert "no sign of group orders; there is no group" in unknown.err
