from group_stories.cause_table import cause_table
from kdiag.findings.finding import RULES
from kdiag_cli.commands.help.topics import finding_text, findings_text, topic_text


def test_all_findings_are_a_table() -> None:
    """What is put into a title is named."""
    rows = [line for line in findings_text().splitlines() if line.startswith("| KD")]

    assert len(rows) == len(RULES)
    assert "| KD1101 | error | nothing listens on <address> |" in rows


def test_a_finding_is_explained() -> None:
    """What is wrong, what that means, and what to do."""
    rule = RULES["KD1501"]
    text = finding_text("KD1501")

    assert text is not None
    assert text.startswith("# KD1501 (error): broker <node_id> advertises <address>,")
    assert rule.explanation in text
    assert "**What to do:** Start broker <node_id> if it is down" in text


def test_what_is_no_finding_has_no_text() -> None:
    """An id is never taken for another."""
    assert finding_text("KD9999") is None


def test_the_table_of_causes_is_what_the_sources_tell() -> None:
    """Whoever changes a verdict changes the topic: `python -m group_stories.cause_table`."""
    text = topic_text("rebalance")

    assert text is not None
    assert "\n".join(cause_table()) in text
