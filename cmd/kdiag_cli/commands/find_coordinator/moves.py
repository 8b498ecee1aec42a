"""`kdiag find-coordinator --moves`: the groups that each broker coordinates."""

from collections.abc import Mapping
from typing import Final

from kdiag.client.visibility import hidden_groups
from kdiag.net.address import host_and_port
from kdiag.probe.coordinator.spread import BrokerGroups, group_spread
from kdiag_cli.commands.find_coordinator.options import COMMAND, FindCoordinatorOptions
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.live.session import live_session
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.output.result import CommandResult, print_result
from kdiag_cli.output.table.layout import TableColumn
from kdiag_cli.output.table.printer import print_table

_COLUMNS: Final = (
    TableColumn("NODE-ID"),
    TableColumn("ADDRESS"),
    TableColumn("RACK", 4),
    TableColumn("GROUPS"),
    TableColumn("TYPES", 2),
    TableColumn("STATES", 1),
    TableColumn("PARTITIONS-LED", 3),
    TableColumn("ERROR"),
)


def show_moves(options: FindCoordinatorOptions, live: LiveOptions) -> ExitCode:
    """Print the groups that each broker coordinates."""
    with live_session(live) as client:
        brokers = group_spread(client)
        hidden = hidden_groups(client)
    result = CommandResult(
        COMMAND,
        lambda: brokers,
        lambda output: print_table(
            output, _COLUMNS, map(_row, brokers), has_headers=options.has_headers
        ),
        [hidden] if hidden else [],
    )
    print_result(result, live.output, is_wide=live.is_wide)
    errors = [each.error for each in brokers if each.error]
    return exit_code_of(errors, fail_on=options.fail_on, is_partial=bool(errors or hidden))


def _row(broker: BrokerGroups) -> tuple[object, ...]:
    return (
        broker.node_id,
        host_and_port(broker.host, broker.port),
        broker.rack,
        broker.groups,
        _counts(broker.types),
        _counts(broker.states),
        broker.partitions,
        broker.error,
    )


def _counts(counts: Mapping[str, int]) -> str | None:
    return " ".join(f"{name} {count}" for name, count in sorted(counts.items())) or None
