"""The table of findings as Markdown, for `kdiag help`."""

from kdiag.findings.finding import RULES

_HEAD = """\
# Findings: what the ids in findings mean

Each kind of finding has an id that never changes its meaning. `kdiag help KD1203` explains one.

| id | severity | what is wrong |
|---|---|---|
"""


def findings_text() -> str:
    """Return all kinds of findings as a table."""
    rows = (f"| {key} | {rule.severity} | {_named(rule.title)} |" for key, rule in RULES.items())
    return _HEAD + "\n".join(rows) + "\n"


def finding_text(rule_id: str) -> str | None:
    """Return what a finding means and what to do; None if no finding has that id."""
    rule = RULES.get(rule_id)
    if rule is None:
        return None
    return (
        f"# {rule_id} ({rule.severity}): {_named(rule.title)}\n\n"
        f"{rule.explanation}\n\n"
        f"**What to do:** {_named(rule.fix)}\n"
    )


def _named(template: str) -> str:
    """Return a title or fix with the names of its evidence, as `<name>`."""
    return template.replace("{", "<").replace("}", ">")
