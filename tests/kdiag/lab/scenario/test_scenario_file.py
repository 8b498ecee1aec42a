import re
from pathlib import Path

import pytest

from kdiag.errors import ConfigError
from kdiag.lab.scenario.scenario_file import (
    lab_settings,
    parse_scenario,
    read_scenario,
    scenario_schema,
)

WHOLE = """\
name: mine
teaches: something
settings: {broker.session.timeout.ms: 700, group.max.size: 3}
topics: [{name: orders, settings: {retention.ms: 5}}]
clients:
  - {kind: producer, name: writer, topic: orders}
  - {kind: member, name: reader, group: billing, topics: [orders]}
disturb:
  - fault: Fetch delay=1s
  - after: {group: {name: billing, members: 1}}
    crash: reader
find:
  - {by: rebalance, cause: member_failed, evidence: {client_id: reader, generation: {min: 1}}}
"""


def test_a_file_becomes_a_scenario(tmp_path: Path) -> None:
    """With the lab that it wants, whose first rebalance waits for nobody."""
    path = tmp_path / "mine.yaml"
    path.write_text(WHOLE, encoding="utf-8")
    settings = lab_settings(read_scenario(path))
    assert settings.session_timeout_ns == 700_000_000
    assert settings.group_config.group_max_size == 3
    assert settings.group_config.group_initial_rebalance_delay_ms == 0


def test_what_is_wrong_is_said_with_its_line_and_key() -> None:
    """Of what is no YAML, of the wrong type, and of what makes no sense."""
    wrongs = [
        ("name: mine", "name: [", 3, "is not YAML"),
        ("name: mine", "nam: mine", 1, "nam"),
        ("  - fault: Fetch delay=1s", "  - fault: Fetch dely=1s", 9, r"disturb\[0\].fault.*delay"),
        ("    crash: reader", "    crash: writer", 11, r"disturb\[1\].crash.*kind member"),
        ("    crash: reader", "    stop_node: 2", 11, r"disturb\[1\].stop_node.*1 to 1"),
        ("    crash: reader", "    crash: reader\n    heal: true", 10, "one thing at a time"),
        ("kind: producer", "kind: writer", 6, r"clients\[0\].kind"),
        ("name: reader,", "name: writer,", 7, "there is another client"),
        ("topic: orders}", "topic: orders, acks: 7}", 6, r"clients\[0\].acks"),
        ("cause: member_failed", "cause: bad_luck", 13, "is none of member_joined"),
        ("cause: member_failed", "notice: odd", 13, "is none of leader moved"),
        ("cause: member_failed", "finding: KD9999", 13, "is no finding"),
        ("cause: member_failed", "topic: orders", 13, "one of finding, cause and notice"),
        ("group.max.size: 3", "group.min.size: 3", 3, r"settings.*group.max.size"),
    ]
    for right, wrong, line, why in wrongs:
        with pytest.raises(ConfigError) as caught:
            parse_scenario(WHOLE.replace(right, wrong), "mine.yaml")
        text = str(caught.value)
        assert re.search(why, text, re.DOTALL), (wrong, text)
        assert f"mine.yaml:{line}:" in text, (wrong, text)


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    """Of a file that is not there, and of one that is too large."""
    with pytest.raises(ConfigError, match="cannot be read"):
        read_scenario(tmp_path / "none.yaml")
    path = tmp_path / "large.yaml"
    path.write_bytes(b"#" * ((1 << 20) + 1))
    with pytest.raises(ConfigError, match="more than 1048576 bytes"):
        read_scenario(path)


def test_the_schema_knows_every_key() -> None:
    """Also those of parts, and that there are no others."""
    schema = scenario_schema()
    step = schema["$defs"]["Step"]
    assert {"after", "fault", "join", "kill_node"} <= set(step["properties"])
    assert step["additionalProperties"] is False
