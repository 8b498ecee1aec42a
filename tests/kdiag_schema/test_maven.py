from collections.abc import Callable
from pathlib import Path

import pytest

from kdiag_schema.maven import fetch_jars
from kdiag_schema.release import read_release
from real_kafka.releases import NEWEST


@pytest.mark.soak
def test_maven_brings_the_jars_that_hold_schemas(
    require_programs: Callable[..., None], tmp_path: Path
) -> None:
    """The release can be read from what was fetched."""
    require_programs("mvn", "java")
    release = read_release(fetch_jars(NEWEST, tmp_path))
    assert release.version == NEWEST
    topics = {each.topic for each in release.messages.values()}
    assert {"__consumer_offsets", "__transaction_state", "__share_group_state"} < topics
    assert {"__cluster_metadata", "__remote_log_metadata"} < topics


def test_a_machine_without_maven_is_told_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The error names the way without it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="name folders by --jars"):
        fetch_jars(NEWEST, tmp_path)
