import pytest
import typer

from kdiag.clock import NS_PER_S
from kdiag.probe.groups.listing import ListedGroup
from kdiag_cli.commands.groups.options import GroupsOptions, LagBar, check, lag_bar


def test_a_group_is_wanted_that_fits_each_filter() -> None:
    """One value of each is enough."""
    group = ListedGroup("classic", "Stable", "consumer", 1)
    fitting = GroupsOptions(patterns=["x", "ord*"], types=["share", "classic"], states=["stable"])
    assert fitting.is_wanted("orders", group)
    assert not fitting.is_wanted("clicks", group)
    assert not fitting._replace(types=["share"]).is_wanted("orders", group)
    assert not fitting._replace(states=["empty"]).is_wanted("orders", group)
    assert GroupsOptions().is_wanted("anything", group)


def test_a_bar_is_records_or_a_time() -> None:
    """A time needs the next record of each partition."""
    assert lag_bar(None) is None
    assert lag_bar("100") == LagBar("100", lag=100)
    assert lag_bar("5m") == LagBar("5m", lag_ms=300_000)
    with pytest.raises(typer.BadParameter):
        lag_bar("much")
    assert GroupsOptions(lag_above=lag_bar("5m")).request().has_times is True
    assert GroupsOptions(lag_above=lag_bar("5")).request().has_times is None
    assert GroupsOptions().request(600).patience_ns == 200
    assert GroupsOptions().request(60 * NS_PER_S).patience_ns == 4 * NS_PER_S


def test_what_fits_together_is_accepted() -> None:
    """The rest is refused, as the command's own test shows."""
    check(GroupsOptions(names=["a"], types=["streams"], is_watching=True, looks=3))
    check(GroupsOptions(is_stuck=True, is_nagios=True))
