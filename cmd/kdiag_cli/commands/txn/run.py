"""The run of `kdiag txn`: looks for open transactions, and ends one."""

import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.session import require_record_batches
from kdiag.diagnosis.transactions import (
    OpenPartition,
    Place,
    Transaction,
    TransactionFacts,
    find,
    judge,
)
from kdiag.findings.rule import Severity
from kdiag.probe.transactions.abort import abort_request, abort_transaction
from kdiag.probe.transactions.held_groups import HeldGroups, groups_held_back
from kdiag.probe.transactions.search import find_open_transactions
from kdiag_cli.commands.txn.text import document, print_transactions, request_form
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.live.run import run_live
from kdiag_cli.live.session import live_session
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.output.result import (
    CommandResult,
    ResultFormat,
    encode,
    print_document,
    print_result,
)
from kdiag_cli.output.terminal import Output, say

COMMAND: Final = "txn"
ABORT: Final = "txn abort"


class TxnOptions(NamedTuple):
    """The options of `kdiag txn list`.

    Attributes:
        topics: those to look at; all if there are none.
        is_hanging: whether only those are shown that hang.
        has_groups: whether to find the groups that wait for them.
        fail_on: the least severity of a finding that makes the exit code 1.
        has_headers: whether a table has a line of column names.
    """

    topics: Sequence[str] = ()
    is_hanging: bool = False
    has_groups: bool = False
    fail_on: Severity = Severity.ERROR
    has_headers: bool = True


class AbortOptions(NamedTuple):
    """The options of `kdiag txn abort`.

    Attributes:
        topic, partition: where it is open.
        start_offset: of its first record there.
        is_sure: whether to send the marker.
    """

    topic: str
    partition: int
    start_offset: int
    is_sure: bool = False


def show(options: TxnOptions, live: LiveOptions) -> ExitCode:
    """Print the open transactions, and return the exit code of the program."""
    return run_live(
        lambda: _show(options, live), live.timeout_ns, command=COMMAND, output=live.output
    )


def abort(options: AbortOptions, live: LiveOptions) -> ExitCode:
    """Print what ends a transaction, or send it, and return the exit code of the program."""
    return run_live(
        lambda: _abort(options, live), live.timeout_ns, command=ABORT, output=live.output
    )


def _show(options: TxnOptions, live: LiveOptions) -> ExitCode:
    with live_session(live) as client:
        require_record_batches(client)
        facts = find_open_transactions(client, options.topics)
        transactions = judge(facts)
        if options.is_hanging:
            transactions = [each for each in transactions if each.hangs is not None]
        asked = [each for each in transactions if options.has_groups or each.is_stalled]
        held = [partition for each in asked for partition in each.partitions]
        groups = groups_held_back(client, held) if asked else HeldGroups()
        brokers = {each.id: each for each in client.brokers}
    commands = {
        each.place: _abort_command(each, live) for one in transactions for each in one.partitions
    }
    findings = list(find(transactions, commands, groups.waiting))
    warnings = [*facts.warnings, *_silence(facts), *(groups.warnings if options.has_groups else ())]
    result = CommandResult(
        COMMAND,
        lambda: [document(each, brokers, commands, groups.waiting) for each in transactions],
        partial(_print, options, facts, transactions, groups.waiting),
        warnings,
        findings,
    )
    print_result(result, live.output, is_wide=live.is_wide)
    return exit_code_of([], findings, options.fail_on, is_partial=bool(warnings))


def _print(
    options: TxnOptions,
    facts: TransactionFacts,
    transactions: Sequence[Transaction],
    groups: Mapping[Place, Sequence[str]],
    output: Output,
) -> None:
    print_transactions(output, transactions, groups, has_headers=options.has_headers)
    if output.is_terminal and not transactions:
        output.line(f"no transaction is open in {facts.partition_count} partitions")


def _silence(facts: TransactionFacts) -> list[str]:
    return [
        f"broker {node_id} did not list its transactions: {why}"
        for node_id, why in facts.silent.items()
    ]


def _abort_command(partition: OpenPartition, live: LiveOptions) -> str:
    """Return the command that ends a transaction in a partition."""
    where: list[str] = []
    for option, values in (
        ("-b", live.bootstrap_servers),
        ("--config", [str(live.config_file)] if live.config_file else ()),
        ("--profile", [live.profile] if live.profile else ()),
    ):
        for value in values or ():
            where += [option, value]
    place = ["-t", partition.topic, "-p", str(partition.partition)]
    start = ["--start-offset", str(partition.start_offset)]
    return shlex.join(["kdiag", "txn", "abort", *where, *place, *start, "--yes"])


def _abort(options: AbortOptions, live: LiveOptions) -> ExitCode:
    """End a transaction, if it is there and hangs."""
    with live_session(live) as client:
        facts = find_open_transactions(client, [options.topic])
        found = _wanted(options, judge(facts))
        if found is None:
            missing = [*facts.warnings, *_silence(facts)]
            say(*missing)
            place = f"{options.topic}[{options.partition}]"
            say(f"no transaction is open at offset {options.start_offset} of {place}")
            return exit_code_of([ExitCode.FINDINGS], is_partial=bool(missing))
        transaction, partition = found
        if transaction.hangs is None:
            say(_refusal(transaction, partition))
            return ExitCode.USAGE
        return _end(client, partition, options, live)


def _wanted(
    options: AbortOptions, transactions: Sequence[Transaction]
) -> tuple[Transaction, OpenPartition] | None:
    place: Place = options.topic, options.partition
    for each in transactions:
        for partition in each.partitions:
            if (partition.place, partition.start_offset) == (place, options.start_offset):
                return each, partition
    return None


def _refusal(transaction: Transaction, partition: OpenPartition) -> str:
    if transaction.is_unknown:
        return (
            f"it is not known whether producer id {partition.producer_id} is alive: no coordinator "
            "has it, and its transaction is not older than transaction.max.timeout.ms"
        )
    return (
        f"transaction {transaction.transactional_id} is alive ({transaction.state}): its producer "
        f"ends it, or broker {transaction.node_id} after its timeout"
    )


def _end(
    client: ClusterClient, partition: OpenPartition, options: AbortOptions, live: LiveOptions
) -> ExitCode:
    """Print the request; with --yes, send it and say what came of it."""
    error = None
    if options.is_sure:
        error = abort_transaction(client, partition)
    output = Output()
    if live.output is ResultFormat.JSON:
        sent = {
            "partition": str(partition),
            "leader": partition.leader_id,
            "request": request_form(abort_request(partition)),
            "sent": options.is_sure,
            "error": error,
        }
        print_document(output, ABORT, [sent])
    elif not options.is_sure:
        output.line(f"would send to broker {partition.leader_id} (--yes sends it): WriteTxnMarkers")
        output.line(encode(request_form(abort_request(partition))).decode())
    elif error is None:
        output.line(
            f"{partition}: the transaction of producer id {partition.producer_id} is aborted"
        )
    output.flush()
    if error is not None:
        say(f"{partition}: broker {partition.leader_id} refused the marker: {error}")
        return exit_code_of([error, ExitCode.FINDINGS])
    return ExitCode.DONE
