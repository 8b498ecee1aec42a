"""The command that prints the exchanges behind a finding, of captures or of a folder of tables.

KD4501, refused writes      kdiag decode traffic.pcap --error NOT_ENOUGH_REPLICAS --topic orders
                            kdiag query tables "SELECT ... WHERE error = 'NOT_ENOUGH_REPLICAS' ..."
KD4106, a hot partition     kdiag report hot traffic.pcap -p topic=orders
KD4303, a request given up  kdiag decode traffic.pcap --status unanswered --client app
KD3304, about a group       kdiag rebalance explain traffic.pcap --group orders --generation 2
any other                   kdiag help KD1407
"""

import re
import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kdiag.exchange.line.quantities import parse_moment_ns

if TYPE_CHECKING:
    from kdiag.findings.finding import Finding  # which loads all rules

_REPORTS: Final = {
    "KD4103": ("throughput", "topic"),
    "KD4106": ("hot", "topic"),
    "KD4202": ("commits", "group"),
    "KD5101": ("compat", ""),
}
"""The report on a finding, and the parameter that a name in its evidence is given to."""

_OPTIONS: Final = {"KD6101": ("--summary", "--tcp")}
"""The options of kdiag decode that show more, where it is not one exchange."""

_MOST_FILES: Final = 3
_LIVE: Final = re.compile(r'["$`\\!]')
"""What a shell reads within double quotes."""

_COLUMNS: Final = "number, time, client_id, broker, api, latency_us, error, topics"


class _Filter(NamedTuple):
    """What chooses exchanges, for `kdiag decode` and in SQL.

    Attributes:
        option: of decode; empty for a flag's value.
        sql: a condition on `exchanges`; `{}` stands for the value, quoted.
    """

    option: str
    sql: str


_FILTERS: Final = {
    "api": _Filter("--api", "api = {}"),
    "client": _Filter("--client", "coalesce(client_id, client_host) = {}"),
    "topic": _Filter("--topic", "list_contains(topics, {})"),
    "group": _Filter("--group", "list_contains(groups, {})"),
    "broker": _Filter("--broker", "broker = {}"),
    "error": _Filter("--error", "error = {}"),
    "status": _Filter("--status", "status = {}"),
    "since": _Filter("--since", "time_ns >= {}"),
    "until": _Filter("--until", "time_ns < {}"),
    "where": _Filter("--where", "{}"),
    "slow_ms": _Filter("--min-latency", "latency_us >= 1000 * {}"),
}
_SUBJECTS: Final = frozenset({"topic", "group", "broker"})

Chosen = dict[str, Any]
"""The values of filters by their names."""


def command_for(finding: "Finding", files: Sequence[str], tables: str = "") -> str:
    """Return the command that shows more of a finding.

    Args:
        finding: the finding.
        files: the captures that it is from; none if they were not kept.
        tables: the folder of tables that it is from instead; empty for none.
    """
    sources = [tables] if tables else files
    if not sources or len(sources) > _MOST_FILES or "-" in sources:
        return f"kdiag help {finding.id}"
    evidence = finding.evidence
    if finding.id in _REPORTS:
        name, parameter = _REPORTS[finding.id]
        words = ["kdiag", "report", name, *sources]
        return shlex.join(
            [*words, "-p", f"{parameter}={evidence[parameter]}"] if parameter else words
        )
    choose = _CHOICES.get(finding.id, _example)
    chosen = {name: value for name, value in choose(evidence).items() if value}
    if chosen:
        return _query(tables, chosen) if tables else _decode(files, chosen)
    words = _of_tables(finding, tables) if tables else _words(finding, files)
    return shlex.join(words or ["kdiag", "help", finding.id])


def _of_tables(finding: "Finding", tables: str) -> list[str]:
    """Return the command that shows more of a finding in tables by a report; empty for none."""
    if finding.id.startswith("KD3") and "group" in finding.evidence:
        group = f"group={finding.evidence['group']}"
        return ["kdiag", "report", "rebalances", tables, "-p", group]
    return []


def _words(finding: "Finding", files: Sequence[str]) -> list[str]:
    """Return the command that shows more of a finding by other means; empty for none."""
    evidence = finding.evidence
    if finding.id in _OPTIONS:
        return ["kdiag", "decode", *files, *_OPTIONS[finding.id]]
    if evidence.get("exchange"):
        return ["kdiag", "decode", *files, "--show", str(evidence["exchange"])]
    if finding.id.startswith("KD6"):
        return ["kdiag", "tune-buffers", *files]
    if finding.id.startswith("KD33") and "group" in evidence:
        words = ["kdiag", "rebalance", "explain", *files, "--group", str(evidence["group"])]
        if "generation" in evidence:
            words += ["--generation", str(evidence["generation"])]
        return words
    if finding.id.startswith("KD1") and "address" in evidence:
        broker = str(evidence["address"])
        return ["kdiag", "decode", *files, "--all", "--errors", "--broker", broker]
    return []


def _decode(files: Sequence[str], chosen: Chosen) -> str:
    words = ["kdiag", "decode", *files]
    for name, value in chosen.items():
        words += [_FILTERS[name].option, f"{value}ms" if name == "slow_ms" else str(value)]
    return shlex.join(words)


def _query(tables: str, chosen: Chosen) -> str:
    conditions = [_FILTERS[name].sql.format(_sql(name, value)) for name, value in chosen.items()]
    where = " AND ".join(conditions)
    sql = f"SELECT {_COLUMNS} FROM exchanges WHERE {where} ORDER BY time_ns"  # noqa: S608 - quoted
    # Within double quotes the texts of SQL read as they are.
    quoted = shlex.quote(sql) if _LIVE.search(sql) else f'"{sql}"'
    return f"{shlex.join(['kdiag', 'query', tables])} {quoted}"


def _sql(name: str, value: Any) -> str:
    """Return a value as SQL has it."""
    if name in {"since", "until"}:
        return str(parse_moment_ns(value, 0))
    if name in {"where", "slow_ms"}:
        return str(value)
    return f"'{str(value).replace(chr(39), 2 * chr(39))}'"


def _client(evidence: dict[str, Any]) -> Chosen:
    return {"client": evidence.get("client_id") or evidence.get("client_host")}


def _large() -> Chosen:
    from kdiag.diagnosis.traffic.producing import LARGEST_BATCH_BYTES  # noqa: PLC0415 - 10 ms

    return {"api": "Produce", "where": f"records_bytes > {LARGEST_BATCH_BYTES}"}


def _refused(evidence: dict[str, Any]) -> Chosen:
    kind = evidence.get("kind")
    subject = {kind: evidence["subject"]} if kind in _SUBJECTS else {}
    return {"error": evidence.get("error")} | subject


def _example(_: dict[str, Any]) -> Chosen:
    return {}


_CHOICES: Final[dict[str, Callable[[dict[str, Any]], Chosen]]] = {
    "KD1503": lambda _: {"api": "Metadata"},
    "KD4101": lambda of: {"api": "Produce"} | _client(of),
    "KD4102": lambda of: {"api": "Produce"} | _client(of),
    "KD4104": lambda of: {"api": "Produce", "where": "acks = 0"} | _client(of),
    "KD4105": lambda of: _large() | _client(of),
    "KD4201": lambda of: {"api": "Fetch", "broker": of.get("broker")} | _client(of),
    "KD4301": lambda of: {"api": "Metadata"} | _client(of),
    "KD4302": lambda of: {"where": "throttle_ms > 0"} | _client(of),
    "KD4303": lambda of: {"status": "unanswered", "broker": of.get("broker")} | _client(of),
    "KD4401": lambda of: {"broker": of.get("broker"), "slow_ms": of.get("late_ms")},
    "KD4402": lambda of: {
        "broker": of.get("broker"),
        "since": of.get("first_time"),
        "until": of.get("last_time"),
    },
    "KD4403": lambda of: {"broker": of.get("broker"), "slow_ms": of.get("median_ms")},
    **dict.fromkeys(("KD4501", "KD4502", "KD4503"), _refused),
}
"""What chooses the exchanges behind the findings of a rule, by their evidence."""
