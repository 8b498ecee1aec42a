"""Test intents of Kafka's PartitionMetadataFileTest."""

from pathlib import Path

import pytest

from kdiag.lab.log.files.partition_metadata import FILE_NAME, read_topic_id, write_topic_id
from kdiag.lab.log.refusal import LogFileError
from tiers.cases import for_each

TOPIC_ID = bytes(range(16))


def test_a_topic_id_is_written_as_kafka_writes_it(tmp_path: Path) -> None:
    """Sixteen bytes as 22 characters."""
    assert read_topic_id(tmp_path) is None
    write_topic_id(tmp_path, TOPIC_ID)
    text = (tmp_path / FILE_NAME).read_text()
    assert text == "version: 0\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n"
    assert read_topic_id(tmp_path) == TOPIC_ID


@for_each(
    "text",
    [
        "",
        "version: 1\ntopic_id: AAECAwQFBgcICQoLDA0ODw\n",
        "version: 0\n",
        "version: 0\ntopic_id: AAEC\n",
        "version: 0\ntopic_id: \u00fc\n",
        "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA\n",
    ],
)
def test_something_else_is_refused(tmp_path: Path, text: str) -> None:
    """The id of all zeros stands for none."""
    (tmp_path / FILE_NAME).write_text(text)
    with pytest.raises(LogFileError, match=FILE_NAME):
        read_topic_id(tmp_path)
