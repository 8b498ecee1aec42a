import re

from kdiag.findings.clusters import RULES


def test_the_ids_are_those_of_this_subject() -> None:
    """The first digit tells what a finding is about."""
    assert [each for each in RULES if not re.fullmatch(r"(KD2)\d{3}", each)] == []
    assert list(RULES) == sorted(RULES)
