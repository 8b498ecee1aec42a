"""Measures what many rebalances and many members cost: CPU time and memory, and how they grow.

    PYTHONPATH=.:cmd:tests/rig python tests/bench/rebalances.py

writes logs of 25,000, 50,000 and 100,000 rebalances and has `kdiag rebalance explain` read each in
a process of its own; then it hands groups of 500, 1,000 and 2,000 members, and as many epochs as
there were rebalances, to the state machines.
The last column is how many times more than the line before.
"""

import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from group_stories.story import GroupStory, client_of, share
from kdiag.diagnosis.rebalance.findings import find
from kdiag.diagnosis.rebalance.histories import histories_of

REBALANCES: Final = (25_000, 50_000, 100_000)
MEMBERS: Final = (500, 1_000, 2_000)
KDIAG: Final = "from kdiag_cli.__main__ import main; main()"
BEGIN: Final = datetime(2026, 1, 1, tzinfo=UTC)
COORDINATOR: Final = "[GroupCoordinator id=1 topic=__consumer_offsets partition=12]"
LOGGER: Final = "(org.apache.kafka.coordinator.group.GroupMetadataManager)"


def log_lines(rebalances: int) -> Iterator[str]:
    """Yield the lines of a coordinator with one group of 2,000 members that come and fail."""
    for number in range(rebalances):
        at = BEGIN + timedelta(seconds=3 * number)
        member = f"consumer-orders-{number % 2000:05}-{number % 2000:036}"
        reason = f"removing member {member} on heartbeat expiration."
        if number % 2:
            reason = (
                f"Adding new member {member} with group instance id null; client reason: not "
                "provided"
            )
        for text in (
            (
                "Preparing to rebalance group orders in state PreparingRebalance with old "
                f"generation {number} (reason: {reason})."
            ),
            f"Stabilized group orders generation {number + 1} with 2000 members.",
        ):
            yield f"[{at:%Y-%m-%d %H:%M:%S},000] INFO {COORDINATOR} {text} {LOGGER}\n"


def explain(log: Path) -> tuple[float, float]:
    """Return the CPU seconds and the megabytes that the program takes for a log."""
    before = os.times()
    command = [sys.executable, "-c", KDIAG, "rebalance", "explain", "--broker-log", str(log)]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    after = os.times()
    used_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1000
    return sum(after[2:4]) - sum(before[2:4]), used_mb


def eager_group(members: int) -> GroupStory:
    """Return a classic group that rebalances twenty times."""
    story = GroupStory()
    names = [f"m{number}" for number in range(members)]
    for generation in range(1, 21):
        story.form(generation, *names)
    return story


def restarted_members(members: int) -> GroupStory:
    """Return a classic group into which new members come, each from a host of its own, and fail."""
    story = GroupStory()
    story.form(1, "keeper")
    for number in range(members):
        name, generation = f"m{number}", 2 * number + 2
        asked = story.ask("", client=client_of(name)), story.ask("keeper")
        story.answer(asked[1], generation, members=dict.fromkeys(["keeper", name]))
        story.answer(asked[0], generation, member_id=name)
        story.wait(12)
        story.beat("keeper", generation, error="REBALANCE_IN_PROGRESS")
        story.answer(story.ask("keeper"), generation + 1, members={"keeper": None})
    return story


def epoch_group(members: int) -> GroupStory:
    """Return a consumer group whose members come one by one; five epochs follow."""
    story = GroupStory()
    names = [f"m{number}" for number in range(members)]
    for number, name in enumerate(names):
        topics = frozenset({"clicks"})
        story.epoch(name, 0, number + 1, topics=topics, assigned=share(number))
    for epoch in range(members, members + 5):
        topics = frozenset({"clicks", f"t{epoch}"})
        story.epoch(names[0], epoch, epoch + 1, topics=topics)
        for number, name in enumerate(names[1:], 1):
            story.epoch(name, epoch, epoch + 1, assigned=share(number))
    return story


def many_epochs(epochs: int) -> GroupStory:
    """Return a consumer group to which a member comes and from which it goes."""
    story = GroupStory()
    topics = frozenset({"clicks"})
    story.epoch("keeper", 0, 1, topics=topics, assigned=share(0))
    for epoch in range(1, epochs, 2):
        story.epoch(f"m{epoch}", 0, epoch + 1, topics=topics, assigned=share(1))
        story.epoch("keeper", epoch, epoch + 1)
        story.epoch(f"m{epoch}", -1, -1)
        story.epoch("keeper", epoch + 1, epoch + 2)
    return story


def judge(story: GroupStory) -> float:
    """Return the CPU seconds from the events of a group to its findings."""
    before = time.process_time()
    for history in histories_of(story.events, "capture"):
        find(history)
    return time.process_time() - before


def main() -> None:
    """Print a line for each size."""
    last = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for count in REBALANCES:
            log = Path(folder) / "server.log"
            log.write_text("".join(log_lines(count)), encoding="utf-8")
            seconds, used_mb = explain(log)
            size_mb = log.stat().st_size / 1e6
            say(f"log of {count:,} rebalances, {size_mb:.0f} MB", seconds, last, used_mb)
            last = seconds
    for make in (eager_group, restarted_members, epoch_group):
        run_story(make, MEMBERS, "members")
    run_story(many_epochs, REBALANCES, "epochs")


def run_story(make: Callable[[int], GroupStory], counts: Sequence[int], what: str) -> None:
    """Print a line for each number of members or epochs."""
    last = 0.0
    for count in counts:
        seconds = judge(make(count))
        say(f"{make.__name__.replace('_', ' ')}, {count:,} {what}", seconds, last)
        last = seconds


def say(what: str, seconds: float, last: float, used_mb: float | None = None) -> None:
    """Print one line."""
    memory = "" if used_mb is None else f"{used_mb:,.0f} MB"
    growth = f"{seconds / last:.1f} times" if last else ""
    sys.stdout.write(f"{what:45}{seconds:8.2f} s {memory:>8} {growth}\n")


if __name__ == "__main__":
    main()
