"""`kdiag api-versions`: asks the brokers, and lays their answers side by side.

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
from kdiag.errors import ConnectError
from kdiag.findings.finding import Finding, found
from kdiag.findings.rule import Severity
from kdiag.probe.destination import Destination, broker_id, find_nodes
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.schema import Versions
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.live.destination import destination_session, tell_nowhere
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.output.findings import say_findings
from kdiag_cli.output.result import ResultFormat, print_document
from kdiag_cli.output.table_layout import TableColumn
from kdiag_cli.output.tables import print_table
from kdiag_cli.output.terminal import Output

COMMAND: Final = "api-versions"


class View(NamedTuple):
    """What is shown.

    Attributes:
        apis: the keys of the APIs; empty for all.
        is_features: whether features are shown instead.
        is_wide: whether there is a column for each broker also where all agree.
        destination: whom to ask.
        fail_on: the least severity of a finding that makes the exit code 1.
        has_headers: whether a table has a line of column names.
    """

    apis: AbstractSet[int]
    is_features: bool
    is_wide: bool
    destination: Destination
    fail_on: Severity
    has_headers: bool


class Label(NamedTuple):
    """What a node is called: its broker's number, if it is known to have one, and its address."""

    number: int | None
    address: str

    @property
    def text(self) -> str:
        """Return the shortest that tells it from others."""
        return self.address if self.number is None else str(self.number)


class _Table(NamedTuple):
    """What is shown: for people, and for programs."""

    columns: Sequence[TableColumn | str]
    rows: Sequence[tuple[object, ...]]
    documents: Sequence[dict[str, Any]]


class Spoken(NamedTuple):
    """What the nodes said.

    Attributes:
        labels: what each node is called, by its id: its broker's number, or its address.
        answers: how it answered, by the same.
    """

    labels: Mapping[int, Label]
    answers: Mapping[int, Answer[ApiVersionsResponse]]

    @property
    def bodies(self) -> dict[int, ApiVersionsResponse]:
        """Return the answers that there are."""
        return {each: said.body for each, said in self.answers.items() if said.body is not None}


def run(view: View, options: LiveOptions) -> ExitCode:
    """Print what the brokers speak."""
    with destination_session(view.destination, options) as client:
        nodes = find_nodes(client, view.destination)
        if not nodes.ids:
            return tell_nowhere(COMMAND, nodes, options.output)
        spoken = _ask(client, nodes.ids)
    findings = _unreachable(spoken)
    if view.is_features:
        table = _features(spoken, view)
    else:
        rows = [row for row in api_rows(spoken.bodies) if not view.apis or row.api_key in view.apis]
        findings = [*find(rows), *findings]
        table = _apis(spoken, rows, view)
    output = Output(is_wide=view.is_wide)
    if options.output is ResultFormat.JSON:
        print_document(output, COMMAND, table.documents, findings=findings)
    elif spoken.bodies:
        print_table(output, table.columns, table.rows, has_headers=view.has_headers)
    output.flush()
    if options.output is ResultFormat.TABLE:
        say_findings(findings)
    return _exit_code(spoken, findings, view.fail_on)


def _ask(client: ClusterClient, node_ids: Sequence[int]) -> Spoken:
    """Ask nodes for their versions."""
    request = ApiVersionsRequest(
        client_software_name=SOFTWARE_NAME, client_software_version=__version__
    )
    labels = {each: Label(broker_id(client, each), client.node(each).endpoint) for each in node_ids}
    return Spoken(labels, client.ask_all(dict.fromkeys(node_ids, request), ApiVersionsResponse))


def _unreachable(spoken: Spoken) -> list[Finding]:
    """Return which nodes did not answer."""
    return [
        found(
            "KD3007",
            node_id=spoken.labels[node_id].text,
            address=spoken.labels[node_id].address,
            why=error.why if isinstance(error, ConnectError) else str(error),
        )
        for node_id, answer in spoken.answers.items()
        if (error := answer.error) is not None
    ]


def _apis(spoken: Spoken, rows: Sequence[ApiRow], view: View) -> _Table:
    """Return the APIs: a column for each broker, or one for all where they agree."""
    is_one = not view.is_wide and not any(row.is_mixed for row in rows)
    brokers = ["BROKERS"] if is_one else _brokers(spoken)
    return _Table(
        columns=("KEY", "API", *brokers, "USABLE", "NOTE"),
        rows=[
            (row.api_key, row.api, *_ranges(row.brokers, is_one=is_one), row.usable, _note(row))
            for row in rows
        ],
        documents=[_api_document(spoken, row) for row in rows],
    )


def _features(spoken: Spoken, view: View) -> _Table:
    """Return the features, laid out as the APIs are."""
    rows = feature_rows(spoken.bodies)
    is_one = not view.is_wide and not any(len(set(row.brokers.values())) > 1 for row in rows)
    brokers = ["SUPPORTED"] if is_one else _brokers(spoken)
    return _Table(
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


def _brokers(spoken: Spoken) -> list[TableColumn]:
    """Return a column for each broker that has answered; the last make room for the others."""
    return [
        TableColumn(spoken.labels[each].text, each_rank)
        for each_rank, each in enumerate(sorted(spoken.bodies), 1)
    ]


def _ranges(brokers: Mapping[int, Versions | None], *, is_one: bool) -> list[Versions | None]:
    ranges = list(brokers.values())
    return ranges[:1] if is_one else ranges


def _note(row: ApiRow) -> str | None:
    """Return what is special about an API."""
    notes = []
    if row.known is None:
        notes.append("not known to kdiag")
    if row.is_mixed:
        notes.append("mixed")
    if row.refused is not None:
        notes.append(f"{row.refused} are refused")
    if row.known is not None and row.usable.low > row.usable.high:
        notes.append("no version is shared")
    return ", ".join(notes) or None


def _api_document(spoken: Spoken, row: ApiRow) -> dict[str, Any]:
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
    spoken: Spoken, brokers: Mapping[int, Versions | None]
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


def _exit_code(spoken: Spoken, findings: Sequence[Finding], fail_on: Severity) -> ExitCode:
    """Return how the command ends: nobody's answer is worse than somebody's missing."""
    errors = [each.error for each in spoken.answers.values() if each.error is not None]
    problems = [] if spoken.bodies else errors
    return exit_code_of(problems, findings, fail_on, is_partial=bool(errors))
