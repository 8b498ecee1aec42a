"""How a tail goes on where it stopped; `test_run` does it with brokers."""

from pathlib import Path

import pytest

from kdiag.client.fetch.position import PartitionKey
from kdiag.errors import ConfigError
from kdiag.probe.tail.offset_spec import At, Position, parse_offsets
from kdiag.probe.tail.topic_selection import parse_selector
from kdiag_cli.commands.tail.resume import ResumeFile, resume_arguments, resume_line, stop_option
from tiers.cases import for_each


def at(offset: int) -> Position:
    """Return an offset as a position."""
    return Position(At.OFFSET, offset)


def arguments(*selectors: str) -> list[str]:
    """Return the arguments to go on with, of what was selected so."""
    positions = {
        PartitionKey("b", 1): at(7),
        PartitionKey("b", 0): Position(At.TIMESTAMP, 1000),
        PartitionKey("a", 10): at(1),
    }
    return resume_arguments(positions, [parse_selector(each) for each in selectors])


@for_each(
    ("selectors", "expected"),
    [
        (["a:10", "b:0,1"], ["a:10@1", "b:0@@1000,1@7"]),
        (["a:10", "b"], ["a:10@1", "b:0@@1000,1@7,new"]),
        (["a:10@0,new", "b:0,1"], ["a:10@1,new", "b:0@@1000,1@7"]),
        (["?"], ["?:new", "a:10@1", "b:0@@1000,1@7"]),
        (["?:new"], ["?:new", "a:10@1", "b:0@@1000,1@7"]),
        (["[ab]:0,1,10"], ["[ab]:0@beginning,1@beginning,10@beginning", "a:10@1", "b:0@@1000,1@7"]),
    ],
)
def test_every_partition_is_an_argument(selectors: list[str], expected: list[str]) -> None:
    """Sorted by topic and partition; what may be added later is `new`."""
    assert arguments(*selectors) == expected


def test_a_shell_takes_the_line_as_it_is() -> None:
    """Patterns are quoted; a long line names what is better."""
    assert resume_line(["a*:new", "a:0@1"]) == "kdiag tail 'a*:new' a:0@1"
    options = ["-b", "kafka:9092", "--grep", "a b"]
    line = resume_line(["a:0@1"], options)
    assert line == "kdiag tail a:0@1 -b kafka:9092 --grep 'a b'"
    line = resume_line(["a:0@1"], ["-e"], Path("my file"))
    assert line == "kdiag tail --resume-file 'my file' -e"
    assert "--resume-file FILE" in resume_line(["a" * 3000])


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    """Nothing else lies beside it, and what has not changed is not written again."""
    file = tmp_path / "offsets"
    assert ResumeFile(file).read([]) == []
    kept = ResumeFile(file)
    kept.write(arguments("?"))
    assert ResumeFile(file).read([]) == [parse_selector(each) for each in arguments("?")]
    assert list(tmp_path.iterdir()) == [file]
    file.unlink()
    kept.write(arguments("?"))
    assert not file.exists()


def test_a_file_must_agree_with_the_topics_that_are_given(tmp_path: Path) -> None:
    """It may be about fewer of them."""
    file = tmp_path / "offsets"
    file.write_text("orders:0@1\n")
    assert len(ResumeFile(file).read([parse_selector("ord*"), parse_selector("b")])) == 1
    with pytest.raises(ConfigError, match="is about orders, which is not among"):
        ResumeFile(file).read([parse_selector("b")])


def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """With the reason of the system."""
    with pytest.raises(ConfigError, match="cannot be written: No such file"):
        ResumeFile(tmp_path / "not there" / "offsets").write(["a:0@1"])


def test_a_stop_stays_where_it_was() -> None:
    """Also where a time ago would be another one by then."""
    assert stop_option(None) == []
    assert stop_option(Position(At.TIMESTAMP, 1500)) == ["-o", "e@1500"]
    assert stop_option(Position(At.OFFSET, 7)) == ["-o", ":7"]
    for position in (Position(At.TIMESTAMP, 1_700_000_000_000), Position(At.OFFSET, 7)):
        _, text = stop_option(position)
        assert parse_offsets([text], 0).stop == position
