"""Every error code of Kafka in every answer: a command ends, reads on, or names the error."""

import sys
from collections import Counter

import pytest

from lab_ends.rounds.answer_matrix import ALL_ERRORS, BAD, SCRIPTED, CaseEnd, cases, run_matrix

pytestmark = pytest.mark.soak

WORKERS = 8


def check(ends: list[CaseEnd]) -> None:
    """Print the counts; one more try for what was silent, as a busy machine may be the cause."""
    again = [end.case for end in ends if end.verdict == "SILENT"]
    ends = [end for end in ends if end.verdict != "SILENT"] + [*run_matrix(again, workers=2)]
    counts = Counter(end.verdict for end in ends)
    sys.stdout.write(f"{len(ends)} cases: {dict(sorted(counts.items()))}\n")
    assert [end for end in ends if end.verdict in BAD] == []


@pytest.mark.timeout(3_600)
def test_no_error_is_silent_untrue_or_lost() -> None:
    """Of each API that the commands ask, in a partition and at the top where there are both."""
    check([*run_matrix(cases(ALL_ERRORS), WORKERS)])


@pytest.mark.timeout(900)
def test_no_answer_without_an_error_code_is_silent_or_lost() -> None:
    """Answers without records, without a partition, damaged, and none at all."""
    check([*run_matrix(SCRIPTED, WORKERS)])
