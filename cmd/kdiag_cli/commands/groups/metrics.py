"""Groups for monitoring: metrics as Prometheus reads them, and the status line of a plugin.

Source: the text exposition format of Prometheus 0.0.4; the Monitoring Plugins Development
Guidelines.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from kdiag.diagnosis.groups.model import Group, GroupsReport, PartitionLag
from kdiag.findings.finding import Finding, worst
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.live.plugin import PluginResult, PluginStatus, status_of, worst_text

_Sample = tuple[dict[str, str], float | None]

_PER_PARTITION: Final[tuple[tuple[str, str, Callable[[PartitionLag], float | None]], ...]] = (
    (
        "kdiag_group_committed_offset",
        "Offset that the group reads next.",
        lambda each: each.committed,
    ),
    ("kdiag_group_partition_lag", "Records that the group has not read.", lambda each: each.lag),
    (
        "kdiag_group_partition_lag_seconds",
        "Age of the record that the group reads next.",
        lambda each: None if each.lag_ms is None else each.lag_ms / 1000,
    ),
)


def prometheus_lines(report: GroupsReport) -> Iterator[str]:
    """Yield the metrics of groups; what is not known has no sample."""
    yield from _metric(
        "kdiag_group_info",
        "A group with its type and state; always 1.",
        (({**_name(each), "type": each.type, "state": each.state}, 1) for each in report.groups),
    )
    yield from _metric(
        "kdiag_group_members",
        "Members of the group.",
        ((_name(each), _count(each)) for each in report.groups),
    )
    for name, about, value in _PER_PARTITION:
        yield from _metric(name, about, _samples(report.groups, value))
    yield from _metric(
        "kdiag_group_lag_unknown",
        "1 if the lag of the group is not known, or not that of all its partitions; else 0.",
        ((_name(each), int(not each.lag_amount.is_whole)) for each in report.groups),
    )
    yield from _metric(
        "kdiag_broker_unlisted",
        "A broker that did not list its groups; always 1.",
        (({"broker": str(node_id)}, 1) for node_id in sorted(report.failures)),
    )


def _samples(
    groups: Iterable[Group], value: Callable[[PartitionLag], float | None]
) -> Iterator[_Sample]:
    for group in groups:
        for each in group.partitions:
            labels = {**_name(group), "topic": each.topic, "partition": str(each.partition)}
            yield labels, value(each)


def _name(group: Group) -> dict[str, str]:
    return {"group": group.group}


def _count(group: Group) -> int | None:
    return None if group.members is None else len(group.members)


def _metric(name: str, about: str, samples: Iterable[_Sample]) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} gauge"
    for labels, value in samples:
        if value is not None:
            told = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
            yield f"{name}{{{told}}} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def plugin_result(
    report: GroupsReport, findings: Sequence[Finding], unknown: Sequence[str] = ()
) -> PluginResult:
    """Return what a plugin says of groups: the worst finding, or how many there are.

    Args:
        report: the groups.
        findings: what is wrong with them.
        unknown: why something that the status depends on is not known.
    """
    lag, age = report.lag_amount, report.age_amount
    status = status_of(ExitCode.DONE, worst(findings))
    if unknown and status is not PluginStatus.CRITICAL:
        status, text = PluginStatus.UNKNOWN, "; ".join(unknown)
    else:
        told = f"{len(report.groups)} groups, {lag.value or 0} records to read"
        text = worst_text(findings) or told
    figures = [f"groups={_figure(len(report.groups), is_known=not report.failures)}"]
    figures.append(f"lag={_figure(lag.value or 0, is_known=lag.is_whole)}")
    if not age.is_whole:
        figures.append("lag_age=U")
    elif age.value is not None:
        figures.append(f"lag_age={age.value / 1000:.3f}s")
    return PluginResult(status, text, tuple(figures))


def _figure(value: int, *, is_known: bool) -> str:
    """Return a value for graphs; `U` is the guidelines' word for one that is not known."""
    return str(value) if is_known else "U"
