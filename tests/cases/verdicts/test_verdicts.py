"""Captures of real trouble: the first finding names the cause, and nothing untrue is said."""

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from programs.kdiag_program import kdiag, kdiag_on_terminal

FOLDER = Path(os.environ.get("KDIAG_REFERENCE", "")) / "cases" / "captures"

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif("KDIAG_REFERENCE" not in os.environ, reason="KDIAG_REFERENCE is not set"),
]


class Verdict(NamedTuple):
    """What must be said of a capture first, and what must not be said of it at all.

    Attributes:
        capture: the name of its file.
        first: texts in the first finding.
        never: texts in no finding.
        fails: whether it is an error.
        not_advised: texts that no remedy has, nor any finding.
    """

    capture: str
    first: tuple[str, ...]
    never: tuple[str, ...] = ()
    fails: bool = True
    not_advised: tuple[str, ...] = ()


VERDICTS = (
    Verdict(
        "min_isr_small",
        (
            (
                "ledger cannot write to strict[0]: 35 of 243 Produce requests refused with "
                "NOT_ENOUGH_REPLICAS from 22:51:23.751"
            ),
            "none succeeded since, not over at the end of the capture",
            "after adminclient-1 set min.insync.replicas=2",
        ),
        ("clicks-web",),
    ),
    Verdict(
        "nl_small",
        (
            "shop and shop-reader cannot write to orders[1]",
            "NOT_LEADER_OR_FOLLOWER from 22:45:55.846",
            "shop 103, shop-reader 10",
            "brokers 1, 2 advertise the same address, 127.0.0.1:23501",
        ),
        ("use one client", "COORDINATOR_NOT_AVAILABLE", "MEMBER_ID_REQUIRED"),
    ),
    Verdict(
        "unknown_topic",
        (
            (
                "web and billing cannot find topic ordres: 216 of 219 Metadata requests refused "
                "with UNKNOWN_TOPIC_OR_PARTITION from 22:44:27.343"
            ),
            "web 191, billing 25; a topic with a similar name: orders",
        ),
        ("use one client", "reader"),
    ),
    Verdict(
        "broker_frozen_small",
        (
            "broker 127.0.0.1:23002 answered no client from 22:52:50.",
            "to 22:53:03.",
            "while risk, desk-1, desk-2, desk-3 asked",
        ),
        ("23001", "23003 a"),
    ),
    Verdict(
        "broker_slow_few",
        ("broker 127.0.0.1:23003 is slow: 21 answers, half of them after more than 448 ms",),
        fails=False,
    ),
    Verdict(
        "disk_full_small",
        (
            (
                "loader and web cannot write to broker 127.0.0.1:23601: 4 of 65 Produce requests "
                "refused with KAFKA_STORAGE_ERROR from 23:04:33.766 to 23:04:34.056"
            ),
            "then 22 requests answered with LEADER_NOT_AVAILABLE",
        ),
        ("linger.ms",),
    ),
    Verdict(
        "acl_denied_small",
        (
            (
                "hr-export and hr-view cannot find topic secret: 26 of 28 Metadata requests "
                "refused with TOPIC_AUTHORIZATION_FAILED from 23:03:37.079 to 23:03:48.162"
            ),
            "hr-export 25, hr-view 1",
        ),
        ("web",),
    ),
    Verdict(
        "static_fenced_franz_rdk_small",
        (
            "error KD3304: two processes use the instance id host-1 of group fleet-2: first at",
            "was fenced at 22:51:56.27",
            "by second at 127.0.0.1",
            "and has not joined since",
        ),
    ),
    Verdict(
        "join_heartbeat_6s",
        (
            "info KD3313: the members of group slow-beat waited 4.0 s for member-1 at 127.0.0.1",
            "4.0 s until its next heartbeat, as its heartbeats are 6 s apart, and 12 ms from there",
        ),
        ("warning ", "error "),
        fails=False,
        not_advised=("between two polls", "max.poll.records"),
    ),
    Verdict(
        "sigstop_1_5_small",
        (
            "warning KD3305: rdkafka at 127.0.0.1 (port 49082) stood still from 22:42:19.",
            "to 22:42:30.8",
            "was removed from group thaw while it lived",
        ),
        fails=False,
        not_advised=("restart",),
    ),
    Verdict(
        "kip848_sigstop_evicted_small",
        (
            "warning KD3314: worker-a at 127.0.0.1",
            "silent since 22:43:31.",
            "removed from group next-gen at about 22:43:38.",
            "generation 4",
        ),
        fails=False,
    ),
    Verdict(
        "two_clusters_same_group_small",
        (
            "warning KD3314: billing-2 at 127.0.0.1",
            "group billing (in two clusters, here ",
            ", 127.0.0.1:23002) at about 22:40:32.49",
        ),
        ("KD3303",),
        fails=False,
    ),
)


@pytest.mark.parametrize("verdict", VERDICTS, ids=[each.capture for each in VERDICTS])
def test_the_first_finding_names_the_cause(verdict: Verdict) -> None:
    """It stands before the tables, and `--fail-on` makes an exit code of it."""
    capture = FOLDER / f"{verdict.capture}.pcap"
    done = kdiag("decode", capture, "--summary", "--fail-on", "error")
    lines = done.out.splitlines()
    titles = [line for line in lines if line.startswith(("error ", "warning ", "info "))]

    assert done.code == verdict.fails
    assert lines.index(titles[0]) < next(
        place for place, line in enumerate(lines) if line.startswith("STATUS ")
    )
    for text in verdict.first:
        assert text in titles[0]
    for text in verdict.never:
        assert text not in "\n".join(titles)
    for text in verdict.not_advised:
        assert text not in done.out.partition("\nAPI ")[0]


@pytest.mark.parametrize("capture", [each.capture for each in VERDICTS])
def test_a_verdict_fits_a_screen(capture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """80 columns and 24 lines, before the tables; no line is longer."""
    monkeypatch.chdir(FOLDER)
    lines = kdiag_on_terminal(80, "decode", f"{capture}.pcap", "--summary").out.splitlines()
    assert lines.index(next(each for each in lines if each.startswith("STATUS "))) <= 24
    assert max(map(len, lines)) <= 80


def test_who_stopped_reading_is_in_the_verdict() -> None:
    """A closed window is seen without following TCP."""
    capture = FOLDER.parents[1] / "captures" / "zero_window_confluent_stopped.pcap"
    out = kdiag("decode", capture, "--summary").out
    (title,) = [line for line in out.splitlines() if line.startswith("warning ")]
    assert title == (
        "warning KD6101: the client 127.0.0.1:51436 stopped reading from 127.0.0.1:21001 for "
        "3.99 s at 10:57:06.781 UTC: its receive window was closed"
    )
