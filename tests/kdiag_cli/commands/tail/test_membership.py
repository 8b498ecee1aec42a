"""`kdiag tail -g` on a scripted broker that coordinates the group."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import parquet

from kdiag.client.config.load import ClientConfig, ConfigSources, load_config
from kdiag.client.fetch.position import PartitionKey
from kdiag.diagnosis.groups.model import DescribedMember
from kdiag.probe.groups.listing import ListedGroup
from kdiag.probe.groups.roster import GroupLook
from kdiag.wire.api.join_group import JoinGroupResponse
from kdiag.wire.api.list_groups import ListGroupsResponse
from kdiag.wire.api.share_group_describe import ShareGroupDescribeResponse
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag_cli.commands.tail.membership import ask, protocol_of
from kdiag_cli.commands.tail.options import MembershipOptions
from programs.kdiag_program import Done, Screen, kdiag, start_kdiag
from scripted_kafka.joinable_cluster import JOINED, JoinableCluster
from scripted_kafka.scripted_broker import offering
from tiers.cases import for_each

PROTOCOLS = ["classic", "consumer"]
QUICK = ("-X", "heartbeat.interval.ms=20", "-X", "retry.backoff.ms=10")


@pytest.fixture
def cluster() -> Iterator[JoinableCluster]:
    """A broker; orders has two partitions with three records each."""
    with JoinableCluster() as cluster:
        for number in range(2):
            log = cluster.add("orders", number)
            for n in range(3):
                log.append(b"%d%d" % (number, n), timestamp=1000 + n)
        cluster.give([0, 1])
        yield cluster


def tail(cluster: JoinableCluster, *arguments: object) -> Done:
    """Run the program to its end, as a member."""
    return kdiag("tail", "-b", cluster.bootstrap, "-g", JOINED, *QUICK, *arguments)


def start_tail(cluster: JoinableCluster, *arguments: object) -> "subprocess.Popen[bytes]":
    """Start it as a process of its own."""
    command = ["tail", "-b", cluster.bootstrap, "-g", JOINED, *QUICK, *arguments]
    return start_kdiag(*command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def lines_of(program: "subprocess.Popen[bytes]", count: int) -> list[bytes]:
    """Return the next lines that the program prints."""
    assert program.stdout is not None
    return [program.stdout.readline().strip() for _ in range(count)]


@pytest.mark.thorough
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_it_reads_what_it_is_given_from_the_commits(
    cluster: JoinableCluster, protocol: str
) -> None:
    """Without a commit from the beginning, as it has an end; nothing is committed unasked."""
    cluster.committed = {0: 2}
    done = tail(cluster, "orders", "-e", "--protocol", protocol)
    assert sorted(done.out.split()) == ["02", "10", "11", "12"]
    assert done.code == 0
    assert "given orders[0@2] from its commits and orders[1@0] without a commit" in done.err
    assert (cluster.committed, cluster.left_count) == ({0: 2}, 1)


@pytest.mark.thorough
def test_partitions_without_a_commit_start_where_one_says(cluster: JoinableCluster) -> None:
    """By -o, else by the setting; and it refuses to guess if that is none."""
    assert tail(cluster, "orders", "-e", "-o", "end").out == ""
    assert tail(cluster, "orders", "-e", "-X", "auto.offset.reset=largest").out == ""
    assert tail(cluster, "orders", "-e", "-X", "auto.offset.reset=by_duration:PT1H").out == ""
    none = tail(cluster, "orders", "-e", "-X", "auto.offset.reset=none")
    assert none.code == 2
    assert "auto.offset.reset: it is none, and orders[" in none.err
    assert cluster.left_count == 4


@pytest.mark.thorough
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_was_printed_is_committed_if_one_says_so(
    cluster: JoinableCluster, protocol: str
) -> None:
    """Exactly that, also in the middle of a batch."""
    cluster.add("orders", 0).append(*(b"%d" % n for n in range(50)))
    cluster.give([0])
    commit = ("--commit", "--protocol", protocol)
    done = tail(cluster, "orders", "-o", "beginning", "-n", "20", *commit)
    assert (done.code, len(done.out.split())) == (0, 20)
    assert cluster.committed == {0: 20}
    again = tail(cluster, "orders", "-n", "5", "-J", *commit)
    assert [json.loads(line)["offset"] for line in again.out.splitlines()] == [*range(20, 25)]
    assert cluster.committed == {0: 25}


def test_records_that_are_filtered_out_count_as_read(cluster: JoinableCluster) -> None:
    """Nobody wants to be given them again."""
    done = tail(cluster, "orders", "-e", "--grep", "nothing", "--commit")
    assert (done.out, cluster.committed) == ("", {0: 3, 1: 3})


@pytest.mark.thorough
def test_no_commit_passes_what_could_not_be_read(cluster: JoinableCluster) -> None:
    """A record that nobody saw is not a record that was read: unless one says so."""
    log = cluster.logs[PartitionKey("orders", 0)]
    first, after, data = log.batches[1]
    log.batches[1] = (first, after, data[:-1] + b"\x77")
    done = tail(cluster, "orders", "-e", "--commit")
    assert (done.code, sorted(done.out.split())) == (8, ["00", "02", "10", "11", "12"])
    assert "orders[0]: unreadable at offset 1 in 3 answers" in done.err
    assert cluster.committed == {0: 1, 1: 3}
    assert tail(cluster, "orders", "-e", "--commit", "--skip-damaged").code == 8
    assert cluster.committed == {0: 3, 1: 3}


def test_a_file_is_committed_once_it_is_whole(cluster: JoinableCluster, tmp_path: Path) -> None:
    """Never before."""
    file = tmp_path / "orders.parquet"
    done = tail(cluster, "orders", "-e", "--commit", "--output", "parquet", "--out", file)
    assert done.code == 0
    assert len(parquet.read_table(file)) == 6
    assert cluster.committed == {0: 3, 1: 3}


def test_a_commit_that_is_refused_is_told(cluster: JoinableCluster) -> None:
    """And the result is not what was asked for."""
    cluster.refusal = "GROUP_AUTHORIZATION_FAILED"
    done = tail(cluster, "orders", "-e", "--commit")
    assert done.code == 8
    assert "not committed: orders[0@3,1@3]: " in done.err
    assert "GROUP_AUTHORIZATION_FAILED" in done.err


@pytest.mark.thorough
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_is_taken_away_is_committed_first(cluster: JoinableCluster, protocol: str) -> None:
    """And read no more; what is given instead is read from its commit."""
    cluster.committed = {1: 2}
    cluster.give([0])
    options = ("-o", "beginning", "--commit", "--protocol", protocol)
    with start_tail(cluster, "orders", *options) as program:
        assert lines_of(program, 3) == [b"00", b"01", b"02"]
        cluster.give([1])
        assert lines_of(program, 1) == [b"12"]
        assert cluster.committed[0] == 3
        program.send_signal(signal.SIGTERM)
        _, err = program.communicate()
    assert program.returncode == 128 + signal.SIGTERM
    counter = b"generation" if protocol == "classic" else b"epoch"
    assert counter + b" 3: given orders[1@2] from its commits" in err
    assert b"taken orders[0@3]" in err
    assert b"stopped at orders[1@3]" in err
    assert (cluster.committed, cluster.left_count) == ({0: 3, 1: 3}, 1)


@pytest.mark.thorough
def test_a_reader_that_has_gone_is_no_reason_to_commit(cluster: JoinableCluster) -> None:
    """What it did with the last records, nobody knows; the group is left all the same."""
    with start_tail(cluster, "orders", "-o", "beginning", "--commit") as program:
        assert len(lines_of(program, 6)) == 6
        assert program.stdout is not None
        program.stdout.close()
        assert program.wait() == 0
    assert (cluster.committed, cluster.left_count) == ({0: 0, 1: 0}, 1)


@pytest.mark.thorough
def test_it_leaves_as_it_should_when_its_time_is_up(cluster: JoinableCluster) -> None:
    """And commits what was printed."""
    options = ("-o", "beginning", "--commit", "--timeout", "2s")
    with start_tail(cluster, "orders", *options) as program:
        out, err = program.communicate()
    assert (program.returncode, len(out.split())) == (6, 6), err.decode()
    assert b"stopped at orders[0@3,1@3]" in err
    assert (cluster.committed, cluster.left_count) == ({0: 3, 1: 3}, 1)


def test_a_group_with_members_is_not_joined_unasked(cluster: JoinableCluster) -> None:
    """In a pipe there is nobody to ask: it says what would happen, and ends."""
    cluster.add_group(JOINED, {}, {"app": [0]})
    done = tail(cluster, "orders", "-e")
    assert (done.code, done.out, cluster.joins) == (2, "", [])
    assert "group billing has 1 member (APP at 10.0.0.1), and would rebalance" in done.err
    assert "--yes says that this is wanted" in done.err
    joined = tail(cluster, "orders", "-e", "--yes")
    assert (joined.code, len(joined.out.split())) == (0, 6)
    assert [each.name for each in cluster.joins[0].protocols] == ["range"]


@pytest.mark.parametrize(("answer", "is_joined"), [("y\n", True), ("no\n", False), ("", False)])
def test_a_person_is_asked_first(
    answer: str, monkeypatch: pytest.MonkeyPatch, *, is_joined: bool
) -> None:
    """With what it would change; who says nothing has said no."""
    keys, screen = Screen(is_terminal=True), Screen(is_terminal=True)
    keys.write(answer)
    keys.seek(0)
    monkeypatch.setattr("sys.stdin", keys)
    monkeypatch.setattr("sys.stderr", screen)
    member = DescribedMember(member_id="m", client_id="app", host="h")
    given = MembershipOptions(JOINED, commits=True)
    assert ask(given, GroupLook(ListedGroup("classic", "", "", 1), "range", [member])) is is_joined
    assert "billing has 1 member (app at h), and would rebalance" in screen.text
    assert "--commit moves its offsets" in screen.text.replace("\n", " ")
    assert screen.text.endswith("Join it? [y/N] ")


@pytest.mark.thorough
def test_a_group_that_cannot_be_seen_is_not_called_empty(cluster: JoinableCluster) -> None:
    """It may have members; --yes takes that risk."""
    cluster.brokers[1].on(
        "ListGroups", ListGroupsResponse(error_code=CODE_BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"])
    )
    done = tail(cluster, "orders", "-e")
    assert (done.code, cluster.joins) == (2, [])
    assert "who is in group billing is not known" in done.err
    assert tail(cluster, "orders", "-e", "--yes").code == 0


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("INVALID_SESSION_TIMEOUT", 2),
        ("GROUP_AUTHORIZATION_FAILED", 5),
        ("GROUP_MAX_SIZE_REACHED", 8),
    ],
)
def test_a_member_that_is_refused_ends_with_why(
    cluster: JoinableCluster, error: str, code: int
) -> None:
    """By Kafka's name."""
    cluster.on("JoinGroup", JoinGroupResponse(error_code=CODE_BY_NAME[error]))
    done = tail(cluster, "orders", "-e")
    assert done.code == code
    assert f"group billing: {error}: " in done.err


@pytest.mark.thorough
def test_offsets_of_a_group_are_not_moved_unasked(cluster: JoinableCluster) -> None:
    """Its own members would go on behind what was printed here."""
    cluster.add_group(JOINED, {("orders", 0): 1})
    assert tail(cluster, "orders", "-e").code == 0
    done = tail(cluster, "orders", "-e", "--commit")
    assert (done.code, cluster.committed) == (2, {})
    assert "--commit moves the offsets of group billing" in done.err


def settings(*properties: str) -> ClientConfig:
    """Return the configuration of a client."""
    return load_config(ConfigSources(properties=["bootstrap.servers=h:9092", *properties]))


@for_each(
    ("given", "setting", "kind", "expected"),
    [
        (None, None, None, "classic"),
        (None, None, "classic", "classic"),
        (None, None, "consumer", "consumer"),
        (None, "consumer", None, "consumer"),
        (None, "consumer", "classic", "consumer"),
        (None, "classic", "consumer", "classic"),
        ("classic", "consumer", "consumer", "classic"),
        ("consumer", "classic", "classic", "consumer"),
    ],
)
def test_a_group_is_joined_as_one_says_else_as_it_is(
    given: str | None, setting: str | None, kind: str | None, expected: str
) -> None:
    """The option counts most, then the setting."""
    listed = None if kind is None else ListedGroup(kind, "Empty", "consumer", 1)
    config = settings(*([] if setting is None else [f"group.protocol={setting}"]))
    options = MembershipOptions(JOINED, protocol=given)
    assert protocol_of(options, GroupLook(listed), config) == expected


@pytest.mark.thorough
def test_a_group_of_the_consumer_protocol_is_joined_by_that(cluster: JoinableCluster) -> None:
    """The broker is asked for an assignor if one says so; kdiag's own do not matter."""
    cluster.add_new_group(JOINED, {}, {"app": ([0], [0])})
    assert tail(cluster, "orders", "-e", "--yes").code == 0
    assert tail(cluster, "orders", "-e", "--yes", "--assignor", "range").code == 0
    setting = ("-X", "group.remote.assignor=mine", "-X", "group.instance.id=i-1")
    assert tail(cluster, "orders", "-e", "--yes", *setting).code == 0
    joins = [each for each in cluster.beats if each.member_epoch == 0]
    assert [each.server_assignor for each in joins] == [None, "range", "mine"]
    assert [each.member_epoch for each in cluster.beats if each.member_epoch < 0] == [-1, -1, -2]
    assert cluster.joins == []


@pytest.mark.thorough
def test_a_broker_without_the_consumer_protocol_ends_it_at_once(cluster: JoinableCluster) -> None:
    """With what to do instead; also where its type would be joined so by itself."""
    cluster.brokers[1].on("ApiVersions", offering(ConsumerGroupHeartbeat=(0, -1)))
    options = ("-e", "--protocol", "consumer", "--timeout", "20s")
    with start_tail(cluster, "orders", *options) as program:
        out, err = program.communicate(timeout=20)
    assert (program.returncode, out) == (7, b"")
    assert b"the broker does not speak the consumer protocol (KIP-848)" in err
    assert b"use the classic protocol" in err
    assert cluster.beats == []


@pytest.mark.thorough
def test_a_group_that_consumers_cannot_join_is_refused(cluster: JoinableCluster) -> None:
    """With what it is; so is an assignor that kdiag does not have."""
    listed = cluster.add_group(JOINED, {}, {"app": [0]})
    listed.protocol_data = "mine"
    done = tail(cluster, "orders", "--yes")
    assert done.code == 2
    assert "use the assignor mine, which kdiag does not have" in done.err
    cluster.listed[JOINED].protocol_type = "connect"
    assert "is a group of connect, not of consumers" in tail(cluster, "orders", "--yes").err
    cluster.listed[JOINED].group_type = "Share"
    cluster.on("ShareGroupDescribe", ShareGroupDescribeResponse())
    assert "billing is a share group" in tail(cluster, "orders", "--yes").err
    assert cluster.joins == []


@pytest.mark.thorough
def test_who_came_is_told_with_the_change(cluster: JoinableCluster) -> None:
    """As far as the group can be described."""
    cluster.add_group(JOINED, {}, {"app": [0]})
    with start_tail(cluster, "orders", "-o", "beginning", "--yes") as program:
        assert len(lines_of(program, 6)) == 6
        cluster.add_group(JOINED, {}, {"app": [0], "m-1": [1], "new": []})
        cluster.give([0])
        assert lines_of(program, 3) == [b"00", b"01", b"02"]
        program.send_signal(signal.SIGINT)
        _, err = program.communicate()
    assert b"group billing: NEW at 10.0.0.1 joined" in err
    assert b"nothing was committed" in err


def test_a_topic_that_does_not_exist_is_refused_before_it_joins(cluster: JoinableCluster) -> None:
    """With the name that may be meant."""
    done = tail(cluster, "order", "-e")
    assert done.code == 2
    assert "did you mean orders" in done.err
    assert cluster.joins == []
