import json
from pathlib import Path

from group_stories.recorded_groups import write_group
from programs.kdiag_program import Done, kdiag


def explain(*arguments: object) -> Done:
    """Run the command."""
    return kdiag("rebalance", "explain", *arguments)


def test_only_the_groups_that_are_asked_for_are_told(tmp_path: Path) -> None:
    """What is not there is said, with what there is."""
    files = [write_group(name, tmp_path)[0] for name in ("share_java", "reb_slow_confluent")]
    done = explain(*files, "--group", "share-grp", "--group", "nobody")

    assert {line.split("\t")[0] for line in done.out.splitlines()[1:]} == {"share-grp"}
    assert "no sign of group nobody; there is grp-slow, share-grp" in done.err


def test_a_generation_that_is_not_there_is_said(tmp_path: Path) -> None:
    """With those that are."""
    capture, _ = write_group("reb_slow_confluent", tmp_path)
    done = explain(capture, "--generation", "99")

    assert done.out == ""
    assert "no rebalance that made generation 99; there is 1, 2, 3, 4, 5" in done.err


def test_contradictions_are_warnings(tmp_path: Path) -> None:
    """A log of another cluster with a group of the same name."""
    capture, log = write_group("reb_crash_confluent", tmp_path)
    text = log.read_text(encoding="utf-8")
    log.write_text(text.replace("on heartbeat expiration.", "on LeaveGroup"), encoding="utf-8")
    done = explain(capture, "--broker-log", log, "-o", "json")
    *_, warning = json.loads(done.out)["warnings"]

    assert "generation 3: the capture says member_failed" in warning
    assert "the log member_left" in warning


def test_a_cut_capture_is_told_as_far_as_it_goes(tmp_path: Path) -> None:
    """Exit code 8."""
    capture, _ = write_group("reb_crash_confluent", tmp_path)
    whole = capture.read_bytes()
    capture.write_bytes(whole[: len(whole) // 2])
    done = explain(capture)

    assert done.code == 8
    assert "member joined" in done.out
    assert done.err
