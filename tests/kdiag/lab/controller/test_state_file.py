import os
from pathlib import Path

import pytest

from kdiag.lab.controller.cluster_image import (
    BrokerRegistration,
    ClusterImage,
    PartitionRegistration,
    TopicImage,
)
from kdiag.lab.controller.state_file import FILE_NAME, make_folder, read_state, write_state
from kdiag.lab.log.refusal import LogFileError
from tiers.cases import for_each

TOPIC = TopicImage(
    "orders", bytes(range(16)), (PartitionRegistration((2, 1), (1,), 1, 3, 7),), {"flush.ms": "1"}
)


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    """But for the brokers, which have to say themselves that they run."""
    image = ClusterImage(
        "id",
        brokers={1: BrokerRegistration(1, "localhost", 9092)},
        topics={"orders": TOPIC},
        broker_configs={"": {"a": "b"}},
        next_producer_id=3000,
        version=9,
    )
    assert read_state(tmp_path) is None
    write_state(tmp_path, image)
    read = read_state(tmp_path)
    assert read is not None
    assert read.topics == {"orders": TOPIC}
    assert (read.cluster_id, read.brokers, read.next_producer_id) == ("id", {}, 3000)
    assert read.broker_configs == {"": {"a": "b"}}


@for_each(
    ("content", "why"),
    [
        (b"", "not the state of a lab"),
        (b"[1]", "not the state of a lab"),
        (b"[" * 100_000, "not the state of a lab"),
        (b"\xff", "UTF-8"),
        (
            b'{"schema":2,"cluster_id":"","next_producer_id":0,"topics":{},"broker_configs":{}}',
            "schema 2",
        ),
    ],
)
def test_something_else_is_said(tmp_path: Path, content: bytes, why: str) -> None:
    """With the file, and what to do."""
    (tmp_path / FILE_NAME).write_bytes(content)
    with pytest.raises(LogFileError, match=why) as caught:
        read_state(tmp_path)
    assert caught.value.path == tmp_path / FILE_NAME


def test_the_folder_is_made_for_its_owner(tmp_path: Path) -> None:
    """With those above it; what is no folder is said."""
    folder = tmp_path / "a" / "b"
    make_folder(folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(LogFileError):
        make_folder(tmp_path / "file" / "c")


def test_a_folder_that_nobody_may_write_to_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is started."""
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(LogFileError, match="may not write"):
        make_folder(tmp_path)
