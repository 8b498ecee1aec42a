"""How a tail goes on where it stopped: arguments for a line, or a file of them.

    kdiag tail orders:0@120,1@77,new

Every partition is named with where to go on: an offset, or, of one that no leader has answered for
yet, what it was to start at. What was to be followed as it grows has `new` behind it.

A file has one argument a line. It is replaced as a whole, so that it is never half a file.
"""

import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from kdiag.client.fetch.position import PartitionKey
from kdiag.errors import ConfigError
from kdiag.probe.tail.offset_spec import At, Position, text_of
from kdiag.probe.tail.topic_selection import TopicSelector, parse_selector

_OPTION: Final = "--resume-file"
REPLACED: Final = frozenset(
    {"topic", "partitions", "offsets", "is_from_beginning", "until", "is_wait", "resume_file"}
    | {"write"}
)
"""Parameters that say where a tail starts and stops; and `--write`, which would write over a
capture."""

_LONG_LINE: Final = 2000
"""So many characters are no pleasure to copy."""


def resume_arguments(
    positions: Mapping[PartitionKey, Position], selectors: Sequence[TopicSelector]
) -> list[str]:
    """Return the arguments that make `kdiag tail` go on at these positions.

    Args:
        positions: of all partitions.
        selectors: what was selected: it says what may be added later.
    """
    growing = {each.pattern for each in selectors if each.partitions is None or each.takes_new}
    by_topic: dict[str, list[str]] = defaultdict(list)
    for (topic, partition), position in sorted(positions.items(), key=lambda each: each[0]):
        by_topic[topic].append(f"{partition}@{text_of(position)}")
    for topic, places in by_topic.items():
        if topic in growing:
            places.append("new")
    later = [_of_new_topics(each) for each in selectors if each.is_pattern]
    return [*later, *(f"{topic}:{','.join(places)}" for topic, places in by_topic.items())]


def _of_new_topics(selector: TopicSelector) -> str:
    """Return the argument for topics that match a pattern later: all of them is new."""
    if selector.partitions is None or selector.takes_new:
        return f"{selector.pattern}:new"
    numbers = ",".join(f"{number}@{At.BEGINNING.value}" for number in selector.partitions)
    return f"{selector.pattern}:{numbers}"


def resume_line(
    arguments: Sequence[str], options: Sequence[str] = (), file: Path | None = None
) -> str:
    """Return the command that goes on where a tail stopped.

    Args:
        arguments: of the partitions.
        options: the others that it was started with.
        file: has the arguments, if there is one.
    """
    if file is not None:
        return f"kdiag tail {shlex.join([_OPTION, str(file), *options])}"
    line = f"kdiag tail {shlex.join([*arguments, *options])}"
    hint = "\n  a long line: --resume-file FILE would keep it in a file"
    return line + hint if len(line) > _LONG_LINE else line


def stop_option(stop: Position | None) -> list[str]:
    """Return the option that ends a tail where it was to end; a time ago has become a moment."""
    if stop is None:
        return []
    return ["-o", f"e@{stop.value}" if stop.at is At.TIMESTAMP else f":{text_of(stop)}"]


class ResumeFile:
    """A file that says where to go on."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._written: list[str] = []

    def read(self, selectors: Sequence[TopicSelector]) -> list[TopicSelector]:
        """Return what the file says; nothing if there is none yet.

        Args:
            selectors: what is selected otherwise; it must agree, if there is anything.

        Raises:
            ConfigError: if the file cannot be read, or is about other topics.
        """
        try:
            lines = self._path.read_text().splitlines()
        except FileNotFoundError:
            return []
        except (OSError, UnicodeDecodeError) as error:
            raise self._refusal(f"it cannot be read: {_why(error)}") from None
        try:
            found = [parse_selector(line) for line in lines if line.strip()]
        except ConfigError as error:
            raise self._refusal(f"it holds {error.key}: {error.why}") from None
        for each in found:
            if selectors and not any(_covers(chosen, each) for chosen in selectors):
                raise self._refusal(f"it is about {each.pattern}, which is not among the topics")
        return found

    def write(self, arguments: list[str]) -> None:
        """Replace the file, if anything has changed.

        Raises:
            ConfigError: if it cannot be written.
        """
        if arguments == self._written:
            return
        beside = self._path.with_name(f"{self._path.name}.new")
        try:
            beside.write_text("".join(f"{each}\n" for each in arguments))
            beside.replace(self._path)
        except OSError as error:
            raise self._refusal(f"it cannot be written: {_why(error)}") from None
        self._written = arguments

    def _refusal(self, why: str) -> ConfigError:
        return ConfigError(str(self._path), _OPTION, why)


def _why(error: OSError | UnicodeDecodeError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _covers(selector: TopicSelector, other: TopicSelector) -> bool:
    """Return whether a selector selects the topics of another."""
    return selector.pattern == other.pattern or (
        selector.is_pattern and fnmatchcase(other.pattern, selector.pattern)
    )
