"""What the traffic of a lab shows, where it is known what is wrong."""

from pathlib import Path

import pytest

from client_ends.traffic_loads import LOADS, LoadedLab
from kdiag.findings.traffic import RULES

pytestmark = pytest.mark.real


def test_each_problem_of_traffic_is_found_where_it_is_and_nothing_else(tmp_path: Path) -> None:
    """A load with a problem has one finding; the same load without it has none."""
    assert LOADS.keys() == RULES.keys()
    for finding_id, load in LOADS.items():
        for is_disturbed in (True, False):
            folder = tmp_path / f"{finding_id}-{is_disturbed}"
            folder.mkdir()
            with LoadedLab(folder, load, is_disturbed=is_disturbed) as lab:
                lab.play()
            found = [f"{each.id}: {each.title}" for each in lab.findings()]
            ids = [each.partition(":")[0] for each in found]
            assert ids == [finding_id] * is_disturbed, (finding_id, is_disturbed, found)
