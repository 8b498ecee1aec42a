"""`kdiag tail` on a real broker, where other tools are wrong or hang."""

import json
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from programs.kdiag_program import Done, kdiag
from real_kafka import topic_maker
from real_kafka.secure_cluster import Listener, SecureCluster

pytestmark = pytest.mark.soak
BINARY_KEY = b"\xff\xfe"


@pytest.fixture(scope="module")
def fill(get_secure_cluster: Callable[[str], SecureCluster]) -> Callable[[str], str]:
    """Return a function from a version to the address of a node with the topics, filled once."""

    @cache
    def fill(version: str) -> str:
        where = get_secure_cluster(version).address(Listener.PLAINTEXT)
        write_topics(where)
        return where

    return fill


def write_topics(where: str) -> None:
    """Write three topics: plain ones with odd records, one of transactions."""
    topic_maker.create(where, "plain", 3)
    sender = topic_maker.producer(where)
    first_ms = round(time.time() * 1000) - 60
    for n in range(60):
        key, value = b"user-%d" % (n % 10), b"value %d" % n
        # No two are of the same millisecond, or their order would be open.
        sender.produce("plain", value, key, partition=n % 3, timestamp=first_ms + n)
        topic_maker.finish(sender)
    topic_maker.create(where, "odd")
    odd = [(BINARY_KEY, b"binary key"), (b"tombstone", None), (b"empty", b"")]
    topic_maker.send(sender, "odd", odd, headers=[("null", None), ("bytes", b"\xfe")])
    topic_maker.send(sender, "odd", [(None, b"\x1b[31mred"), (None, b'{"a": 1}')])
    topic_maker.finish(sender)
    topic_maker.create(where, "txn")
    rounds = [(5, True), (5, False)] * 5
    topic_maker.transact(where, "txn", "writer", rounds)


@pytest.fixture(params=["4.3.1", "3.9.1"])
def bootstrap(request: pytest.FixtureRequest, fill: Callable[[str], str]) -> str:
    """Return the address of one node with the topics."""
    return fill(request.param)


def tail(bootstrap: str, *arguments: str) -> Done:
    """Run the program until it ends by itself; two minutes are far too long."""
    return kdiag("tail", "-b", bootstrap, "--timeout", "120s", *arguments)


def records(bootstrap: str, *arguments: str) -> list[dict[str, Any]]:
    """Return what it prints as JSON."""
    done = tail(bootstrap, *arguments, "-J")
    assert done.code == 0, done
    return [json.loads(line) for line in done.out.splitlines()]


def test_the_last_five_are_those_of_the_topic_in_time_order(bootstrap: str) -> None:
    """Not five of each partition, and not five of one."""
    found = records(bootstrap, "plain", "-o", "-5", "-e")
    assert [each["value"] for each in found] == [f"value {n}" for n in range(55, 60)]


@pytest.mark.real
def test_the_last_three_visible_ones_are_found_behind_aborted_ones(bootstrap: str) -> None:
    """The end of the log is an aborted transaction and its marker."""
    found = records(bootstrap, "txn", "-o", "-3", "-e")
    assert [each["value"] for each in found] == [f"writer 8 kept {n}" for n in (2, 3, 4)]


@pytest.mark.real
def test_a_topic_of_transactions_ends_with_what_was_committed(bootstrap: str) -> None:
    """Twenty-five of fifty, and no waiting at the last marker."""
    found = records(bootstrap, "txn", "-e")
    assert len(found) == 25
    assert all("kept" in each["value"] for each in found)


def test_aborted_and_control_records_are_shown_marked(bootstrap: str) -> None:
    """Sixty in all, each said what it is."""
    found = records(bootstrap, "txn", "-e", "--show-aborted", "--show-control")
    assert len(found) == 60
    aborted = [each for each in found if each.get("aborted")]
    assert len(aborted) == 25
    assert all("lost" in each["value"] for each in aborted)
    assert {each["control"] for each in found if "control" in each} == {"COMMIT", "ABORT"}


def test_read_uncommitted_reads_everything_but_markers(bootstrap: str) -> None:
    """And ends as well."""
    assert len(records(bootstrap, "txn", "-e", "--isolation", "read_uncommitted")) == 50


@pytest.mark.real
def test_times_begin_and_end_a_reading(bootstrap: str) -> None:
    """From a moment to the end, up to a moment, and some time ago."""
    everything = records(bootstrap, "plain", "-e")
    middle = sorted(each["timestamp"] for each in everything)[30]
    later = [each for each in everything if each["timestamp"] >= middle]
    assert len(records(bootstrap, "plain", "-o", f"s@{middle}", "-e")) == len(later)
    earlier = records(bootstrap, "plain", "-o", f"e@{middle}")
    assert len(earlier) == len(everything) - len(later)
    assert len(records(bootstrap, "plain", "-o", "@-1h", "-e")) == 60
    assert len(records(bootstrap, "plain", "-o", f"@{middle}:end")) == len(later)


@pytest.mark.parametrize("offsets", [":end", "0:20", "0:1000"])
def test_what_has_an_end_ends(bootstrap: str, offsets: str) -> None:
    """Also where an end is beyond what there is."""
    ends = ["-e"] if offsets == "0:1000" else []
    assert len(records(bootstrap, "plain", "-o", offsets, *ends)) == 60


def test_records_are_chosen_by_key_and_text(bootstrap: str) -> None:
    """Six of sixty have the key; the reading ends."""
    assert len(records(bootstrap, "plain", "--key", "user-7", "-e")) == 6
    assert len(records(bootstrap, "plain", "--grep", "value 5[0-9]", "-e")) == 10


@pytest.mark.real
def test_json_loses_nothing(bootstrap: str) -> None:
    """Binary keys and header values in base64; a tombstone is not an empty value."""
    binary, tombstone, empty, *_ = records(bootstrap, "odd", "-e")
    assert (binary["key_b64"], "key" in binary) == ("//4=", False)
    assert (tombstone["value"], empty["value"]) == (None, "")
    assert binary["headers"] == [["null", None], ["bytes", {"b64": "/g=="}]]


def test_a_start_that_is_gone_is_told(bootstrap: str) -> None:
    """The offset asked for is beyond the end of the log."""
    done = tail(bootstrap, "odd:0@99", "-e")
    assert done.code in {0, 8}
    assert done.out == ""


def test_an_unknown_topic_is_refused_with_the_nearest(bootstrap: str) -> None:
    """At once, and with an exit code."""
    done = tail(bootstrap, "plane", "-e")
    assert (done.code, done.out) == (2, "")
    assert "did you mean plain" in done.err


@pytest.mark.real
def test_a_format_string_of_kcat_or_kcl_prints_the_same(bootstrap: str) -> None:
    """`%s` and `%v` are the value."""
    first = tail(bootstrap, "plain:0", "-o", "0:1", "-f", r"%t[%p]@%o %k %s\n")
    second = tail(bootstrap, "plain:0", "-o", "0:1", "-f", r"%t[%p]@%o %k %v\n")
    assert first.out == second.out == "plain[0]@0 user-0 value 0\n"
