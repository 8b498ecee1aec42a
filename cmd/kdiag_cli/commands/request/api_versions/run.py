"""The run of `kdiag api-versions`: asks the brokers, and prints their answers side by side.

    KEY  API       BROKERS  USABLE  NOTE
      0  Produce   0-13     3-13    0-2 are refused
      1  Fetch     4-18     4-18

and where brokers differ

    KEY  API       1     2     USABLE  NOTE
      1  Fetch     4-17  4-18  4-17    mixed
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final, NamedTuple

from kdiag import __version__
from kdiag.client.cluster_client import Answer, ClusterClient
from kdiag.client.network.api_versions import SOFTWARE_NAME
from kdiag.diagnosis.broker_versions import ApiRow, api_rows, feature_rows, find
from kdiag.diagnosis.connection_finding import of_hanging_broker
from kdiag.errors import ConnectError, Fault, KdiagError, RequestTimeoutError
from kdiag.findings.finding import Finding, found
from kdiag.findings.rule import Severity
from kdiag.probe.destination import Destination, broker_id, find_nodes
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.schema import Versions
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.live.destination import destination_session, read_destination, report_nowhere
from kdiag_cli.live.run import run_live
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.output.findings import say_findings
from kdiag_cli.output.result import ResultFormat, print_document
from kdiag_cli.output.table.layout import TableColumn
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import Output

COMMAND: Final = "api-versions"


class ApiVersionsOptions(NamedTuple):
    """The options of `kdiag api-versions`.

    Attributes:
        api_keys: the APIs; empty for all.
        is_features: whether features are shown instead.
        is_wide: whether there is a column for each broker also where all agree.
        to: whom to ask.
        fail_on: the least severity of a finding that makes the exit code 1.
        has_headers: whether a table has a line of column names.
    """

    api_keys: AbstractSet[int]
    is_features: bool
    is_wide: bool
    to: str
    fail_on: Severity
    has_headers: bool


class NodeLabel(NamedTuple):
    """The name of a node: the number of its broker, if that is known, and its address."""

    number: int | None
    address: str

    @property
    def text(self) -> str:
        """Return the shortest name that is unique."""
        return self.address if self.number is None else str(self.number)


class _VersionTable(NamedTuple):
    """A table for people, with the same rows as documents for programs."""

    columns: Sequence[TableColumn | str]
    rows: Sequence[tuple[object, ...]]
    documents: Sequence[dict[str, Any]]


class SpokenVersions(NamedTuple):
    """The answers of the nodes.

    Attributes:
        labels: the names of the nodes, by node id.
        answers: their answers, by node id.
    """

    labels: Mapping[int, NodeLabel]
    answers: Mapping[int, Answer[ApiVersionsResponse]]

    @property
    def bodies(self) -> dict[int, ApiVersionsResponse]:
        """Return the bodies of the nodes that answered."""
        return {each: said.body for each, said in self.answers.items() if said.body is not None}


def run(options: ApiVersionsOptions, live: LiveOptions) -> ExitCode:
    """Print the versions of the brokers; return the exit code of the program."""
    destination = read_destination(options.to)
    return run_live(
        lambda: _print(options, destination, live),
        live.timeout_ns,
        command=COMMAND,
        output=live.output,
    )


def _print(options: ApiVersionsOptions, destination: Destination, live: LiveOptions) -> ExitCode:
    with destination_session(destination, live) as client:
        nodes = find_nodes(client, destination)
        if not nodes.ids:
            return report_nowhere(COMMAND, nodes, live.output)
        spoken = _ask(client, nodes.ids)
        release = client.settings.network.release
    findings = _unreachable(spoken)
    if options.is_features:
        table = _features(spoken, options)
    else:
        apis = options.api_keys
        rows = [row for row in api_rows(spoken.bodies, release) if not apis or row.api_key in apis]
        findings = [*find(rows), *findings]
        table = _apis(spoken, rows, options)
    output = Output(is_wide=options.is_wide)
    if live.output is ResultFormat.JSON:
        print_document(output, COMMAND, table.documents, findings=findings)
    elif spoken.bodies:
        print_table(output, table.columns, table.rows, has_headers=options.has_headers)
    output.flush()
    if live.output is ResultFormat.TABLE:
        say_findings(findings)
    return _exit_code(spoken, findings, options.fail_on)


def _ask(client: ClusterClient, node_ids: Sequence[int]) -> SpokenVersions:
    """Ask nodes for their versions."""
    request = ApiVersionsRequest(
        client_software_name=SOFTWARE_NAME, client_software_version=__version__
    )
    labels = {
        each: NodeLabel(broker_id(client, each), client.node(each).endpoint) for each in node_ids
    }
    return SpokenVersions(
        labels, client.ask_all(dict.fromkeys(node_ids, request), ApiVersionsResponse)
    )


def _unreachable(spoken: SpokenVersions) -> list[Finding]:
    """Return a finding for each node without an answer."""
    return [
        _missing(spoken.labels[node_id], error)
        for node_id, answer in spoken.answers.items()
        if (error := answer.error) is not None
    ]


def _missing(label: NodeLabel, error: KdiagError) -> Finding:
    """Return the finding that a node did not answer."""
    why = error.why if isinstance(error, ConnectError) else str(error)
    where = "" if label.number is None else f" at {label.address}"
    place = {"address": label.address, "where": where}
    finding = found("KD3007", node_id=label.text, **place, why=why)
    is_hanging = isinstance(error, RequestTimeoutError)
    if isinstance(error, ConnectError):
        is_hanging = error.fault is Fault.SILENT
    return of_hanging_broker(finding, label.text) if is_hanging else finding


def _apis(
    spoken: SpokenVersions, rows: Sequence[ApiRow], options: ApiVersionsOptions
) -> _VersionTable:
    """Return the APIs: a column for each broker, or one for all where they agree."""
    is_one = not options.is_wide and not any(row.is_mixed for row in rows)
    brokers = ["BROKERS"] if is_one else _brokers(spoken)
    return _VersionTable(
        columns=("KEY", "API", *brokers, "USABLE", "NOTE"),
        rows=[
            (row.api_key, row.api, *_ranges(row.brokers, is_one=is_one), row.usable, _note(row))
            for row in rows
        ],
        documents=[_api_document(spoken, row) for row in rows],
    )


def _features(spoken: SpokenVersions, options: ApiVersionsOptions) -> _VersionTable:
    """Return the features, laid out as the APIs are."""
    rows = feature_rows(spoken.bodies)
    is_one = not options.is_wide and not any(len(set(row.brokers.values())) > 1 for row in rows)
    brokers = ["SUPPORTED"] if is_one else _brokers(spoken)
    return _VersionTable(
        columns=("FEATURE", *brokers, "FINALIZED", "RELEASE"),
        rows=[
            (row.name, *_ranges(row.brokers, is_one=is_one), row.finalized, row.release)
            for row in rows
        ],
        documents=[
            {
                "feature": row.name,
                "finalized": row.finalized,
                "release": row.release,
                "brokers": _range_documents(spoken, row.brokers),
            }
            for row in rows
        ],
    )


def _brokers(spoken: SpokenVersions) -> list[TableColumn]:
    """Return a column for each broker that has answered; the last make room for the others."""
    return [
        TableColumn(spoken.labels[each].text, each_rank)
        for each_rank, each in enumerate(sorted(spoken.bodies), 1)
    ]


def _ranges(brokers: Mapping[int, Versions | None], *, is_one: bool) -> list[Versions | None]:
    ranges = list(brokers.values())
    return ranges[:1] if is_one else ranges


def _note(row: ApiRow) -> str | None:
    """Return the remarks about an API."""
    notes = []
    if row.known is None:
        who = "kdiag" if row.api is None else "clients of that release"
        notes.append(f"not known to {who}")
    if row.is_mixed:
        notes.append("mixed")
    if row.refused is not None:
        notes.append(f"{row.refused} are refused")
    if row.known is not None and row.usable.low > row.usable.high:
        notes.append("no version is shared")
    return ", ".join(notes) or None


def _api_document(spoken: SpokenVersions, row: ApiRow) -> dict[str, Any]:
    """Return an API in the shape that `--output json` promises."""
    return {
        "api_key": row.api_key,
        "api": row.api,
        "known": _range_document(row.known),
        "usable": _range_document(row.usable),
        "refused": _range_document(row.refused),
        "mixed": row.is_mixed,
        "brokers": _range_documents(spoken, row.brokers),
    }


def _range_documents(
    spoken: SpokenVersions, brokers: Mapping[int, Versions | None]
) -> list[dict[str, Any]]:
    return [
        {
            "node_id": spoken.labels[node_id].number,
            "address": spoken.labels[node_id].address,
            "versions": _range_document(versions),
        }
        for node_id, versions in brokers.items()
    ]


def _range_document(versions: Versions | None) -> dict[str, int] | None:
    if versions is None or versions.low > versions.high:
        return None
    return {"min": versions.low, "max": versions.high}


def _exit_code(spoken: SpokenVersions, findings: Sequence[Finding], fail_on: Severity) -> ExitCode:
    """Return the exit code: no answer at all is worse than a missing one."""
    errors = [each.error for each in spoken.answers.values() if each.error is not None]
    problems = [] if spoken.bodies else errors
    return exit_code_of(problems, findings, fail_on, is_partial=bool(errors))
