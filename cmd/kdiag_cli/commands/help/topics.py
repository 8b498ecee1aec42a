"""The topics of `kdiag help` as Markdown: a file for each, and what is made of the findings."""

from pathlib import Path
from typing import Final

from kdiag.findings.finding import RULES

TOPICS: Final = Path(__file__).parents[2] / "help"
"""The folder of the topics: a file of Markdown for each, some in folders inside."""

FINDINGS: Final = "findings"
"""The topic that is made of the table of findings."""

_HEAD: Final = """\
# Findings: what the ids in findings mean

Each kind of finding has an id that never changes its meaning. `kdiag help KD1203` explains one.

| id | severity | what is wrong |
|---|---|---|
"""


def topic_files() -> dict[str, Path]:
    """Return the file of each topic that has one, by its name."""
    return {path.stem: path for path in TOPICS.rglob("*.md")}


def topic_titles() -> dict[str, str]:
    """Return the title of each topic by its name, in alphabetical order."""
    titles = {FINDINGS: _title(_HEAD)}
    for name, path in topic_files().items():
        titles[name] = _title(path.read_text(encoding="utf-8"))
    return dict(sorted(titles.items()))


def topic_text(topic: str) -> str | None:
    """Return the Markdown of a topic or of a finding's id; None if there is no such topic."""
    name = topic.lower()
    if name == FINDINGS or name.startswith("kd"):
        return findings_text() if name == FINDINGS else finding_text(topic.upper())
    path = topic_files().get(name)
    return None if path is None else path.read_text(encoding="utf-8")


def findings_text() -> str:
    """Return all kinds of findings as a table."""
    rows = (f"| {key} | {rule.severity} | {named(rule.title)} |" for key, rule in RULES.items())
    return _HEAD + "\n".join(rows) + "\n"


def finding_text(rule_id: str) -> str | None:
    """Return what a finding means and what to do; None if no finding has that id."""
    rule = RULES.get(rule_id)
    if rule is None:
        return None
    return (
        f"# {rule_id} ({rule.severity}): {named(rule.title)}\n\n"
        f"{rule.explanation}\n\n"
        f"**What to do:** {named(rule.fix)}\n"
    )


def _title(text: str) -> str:
    return text.partition("\n")[0].lstrip("# ")


def named(template: str) -> str:
    """Return a title or fix with the names of its evidence as `<name>`."""
    return template.replace("{", "<").replace("}", ">")
