import pytest

from kdiag.errors import ConfigError
from kdiag.lab.scenario.shipped import find_scenario, shipped_scenarios


@pytest.mark.thorough
def test_each_file_holds_the_scenario_of_its_name() -> None:
    """Each can be read, disturbs something, and teaches something that no other does."""
    shipped = shipped_scenarios()
    assert [each.scenario.name for each in shipped] == [each.name for each in shipped]
    assert [each.name for each in shipped if not each.scenario.disturb] == []
    assert len({each.scenario.teaches for each in shipped}) == len(shipped)


def test_a_name_that_nothing_has_is_refused() -> None:
    """And says where the names are."""
    assert find_scenario("member-dies").name == "member-dies"
    with pytest.raises(ConfigError, match="kdiag lab scenarios"):
        find_scenario("member-die")
