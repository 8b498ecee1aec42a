"""The run of `kdiag request`: sends a request to its destination, and prints the replies.

    $ kdiag request -b localhost:9092 FindCoordinator '{"coordinatorKeys": ["orders"]}'
    kdiag: broker 1 (localhost:9092): FindCoordinator v6, 1.21 ms
    {
      "throttleTimeMs": 0,
      ...

Only bodies go to stdout, so that a pipe gets nothing but JSON.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import typer

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.config.load import client_version, load_config, read_settings
from kdiag.client.network.api_versions import wanted_versions
from kdiag.client.network.request import request_parts
from kdiag.errors import ConnectError, KdiagError
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.body import Bodies, BodyForm
from kdiag.exchange.model import Connection, Exchange
from kdiag.probe.destination import Destination, broker_id, find_nodes
from kdiag.wire.client_release import ClientRelease
from kdiag.wire.frame import Frame
from kdiag.wire.primitives import uuid_text
from kdiag.wire.schema import ALL_VERSIONS, Versions
from kdiag.wire.side_effects import effect
from kdiag_cli.commands.request.forms import pretty, print_fields, print_template
from kdiag_cli.commands.request.message import RequestMessage, read_message
from kdiag_cli.commands.request.options import RequestOptions, check_version, read_json
from kdiag_cli.commands.request.reply import AskedNode, Reply, frame_hex, reply_of
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.live.destination import destination_session, read_destination, report_nowhere
from kdiag_cli.live.run import run_live
from kdiag_cli.options.live import LiveOptions, config_sources
from kdiag_cli.output.findings import say_findings
from kdiag_cli.output.json_text import shown
from kdiag_cli.output.result import ResultFormat, print_document
from kdiag_cli.output.terminal import Output, say

COMMAND: Final = "request"


def run(options: RequestOptions, live: LiveOptions) -> ExitCode:
    """Send a request, or print its fields or template; return the exit code of the program.

    Raises:
        typer.BadParameter: if an option is wrong.
    """
    if options.lists_fields and options.is_template:
        raise typer.BadParameter("choose one of --fields and --template")
    check_version(options.api, options.version)
    destination = read_destination(options.to)
    if options.lists_fields:
        work = partial(_print_fields, options, live)
    elif options.is_template:
        work = partial(_print_template, options, live)
    else:
        work = partial(_ask, options, read_json(options.body), destination, live)
    return run_live(work, live.timeout_ns, command=COMMAND, output=live.output)


def _print_fields(options: RequestOptions, live: LiveOptions) -> ExitCode:
    return print_fields(options.api, _version(options, live), live.output)


def _print_template(options: RequestOptions, live: LiveOptions) -> ExitCode:
    return print_template(options.api, _version(options, live))


def _version(options: RequestOptions, live: LiveOptions) -> int | None:
    """Return the version that the options name, or the newest of the release that they name."""
    if live.as_version is None:
        return options.version
    asked = ALL_VERSIONS if options.version is None else Versions(options.version, options.version)
    return wanted_versions(options.api, asked, _release(live)).high


def _release(live: LiveOptions) -> ClientRelease | None:
    """Return the release as the clients of which the request is sent."""
    return client_version(read_settings(config_sources(live)).values)


def _ask(
    options: RequestOptions, form: dict[str, Any], destination: Destination, live: LiveOptions
) -> ExitCode:
    """Send a request and print the replies; without leave to send it, print the request."""
    message = read_message(options.api, form, options.version)
    message = message._replace(
        versions=wanted_versions(message.api, message.versions, _release(live))
    )
    newest = message.versions.high
    change = effect(message.api, message.build(newest), newest)
    if options.is_dry_run:
        _show(message, options, live)
        return ExitCode.DONE
    if change is not None and not options.is_confirmed:
        _show(message, options, live, change)
        return ExitCode.USAGE
    return _send(message, options, destination, live)


def _show(
    message: RequestMessage, options: RequestOptions, live: LiveOptions, change: str | None = None
) -> None:
    """Print the request, and what has to be confirmed before it is sent."""
    exchange = _unsent(message, load_config(config_sources(live)).client_id)
    dissection = Dissection(exchange)
    assert dissection.request is not None
    body, _ = _bodies(options, TopicNames()).make(dissection, dissection.request, is_response=False)
    assert body is not None
    reply = Reply(AskedNode(None, None, message.api.name), exchange.version, frame=exchange.request)
    warnings = [] if change is None else [_refusal(reply, dissection, change)]
    output = Output()
    if live.output is ResultFormat.JSON:
        document = {**reply.document(with_bytes=options.with_bytes), "request": body}
        print_document(output, COMMAND, [document], warnings=warnings)
    else:
        _print_frame(output, reply, options)
        if not options.with_bytes:
            output.write(shown(output, pretty(body)) + b"\n")
    output.flush()
    say(*warnings)


def _refusal(reply: Reply, dissection: Dissection, change: str) -> str:
    """Return why a request was not sent, and what it would change."""
    kinds = (
        ("topics", dissection.topics | dissection.topic_ids),
        ("groups", dissection.groups),
        ("transactional ids", dissection.transactional_ids),
    )
    touched = "; ".join(f"{kind} {', '.join(sorted(names))}" for kind, names in kinds if names)
    about = f" for {touched}" if touched else ""
    request = f"{reply.asked.api} v{reply.version}{about}"
    return f"{request} was not sent: {change}. --yes sends it"


def _unsent(message: RequestMessage, client_id: str) -> Exchange:
    """Return the exchange that a request would begin, in the newest version that can encode it."""
    api, version = message.api, message.versions.high
    data = b"".join(request_parts(message.build(version), api, version, 0, client_id))
    return Exchange(
        number=1,
        connection=Connection(
            number=1, connection_id="", client="", broker="", first_ns=0, last_ns=0
        ),
        api_key=api.key,
        version=version,
        correlation_id=0,
        client_id=client_id,
        request=Frame(data, len(data), 0, 0),
        response=None,
    )


def _send(
    message: RequestMessage, options: RequestOptions, destination: Destination, live: LiveOptions
) -> ExitCode:
    """Send a request and print the replies."""
    exchanges: dict[int | None, Exchange] = {}

    def keep(exchange: Exchange) -> None:
        if exchange.api_key == message.api.key:
            exchanges[exchange.correlation_id] = exchange

    with destination_session(destination, live, keep) as client:
        nodes = find_nodes(client, destination)
        if not nodes.ids:
            return report_nowhere(COMMAND, nodes, live.output)
        questions = [(node_id, message.builder) for node_id in nodes.ids]
        answers = client.ask_each(questions, message.api.response_class())
    bodies = _bodies(options, _topic_names(client))
    replies = [
        reply_of(
            AskedNode(broker_id(client, node_id), client.node(node_id).endpoint, message.api.name),
            answer,
            exchanges.get(answer.correlation_id),
            bodies,
        )
        for node_id, answer in zip(nodes.ids, answers, strict=True)
    ]
    return _print(replies, options, live)


def _bodies(options: RequestOptions, names: TopicNames) -> Bodies:
    form = BodyForm(raw=options.raw, values=True, show_secrets=options.show_secrets)
    return Bodies(names, form)


def _topic_names(client: ClusterClient) -> TopicNames:
    """Return the topic ids in the metadata that led to the destination."""
    topics = client.cluster.topics.values()
    return TopicNames({uuid_text(each.topic_id): each.name for each in topics})


def _print(replies: Sequence[Reply], options: RequestOptions, live: LiveOptions) -> ExitCode:
    """Print replies; return the exit code."""
    findings = [finding for each in replies if (finding := each.finding) is not None]
    warnings = [each.warning for each in replies if each.warning is not None]
    output = Output()
    if live.output is ResultFormat.JSON:
        documents = [each.document(with_bytes=options.with_bytes) for each in replies]
        print_document(output, COMMAND, documents, warnings=warnings, findings=findings)
    else:
        for each in replies:
            if output.is_terminal or len(replies) > 1:
                output.flush()
                say(each.title)
            _print_reply(output, each, options)
        output.flush()
        _say_fixes(replies)
        refused = [each.finding for each in replies if each.error_name is not None]
        say_findings((each for each in refused if each is not None), warnings)
    output.flush()
    errors = [each.error for each in replies if each.error is not None]
    problems: list[Any] = [each.error_name for each in replies if each.error_name is not None]
    if len(errors) == len(replies):
        problems += errors
    return exit_code_of(problems, findings, options.fail_on, is_partial=bool(errors))


def _print_reply(output: Output, reply: Reply, options: RequestOptions) -> None:
    _print_frame(output, reply, options)
    if reply.body is not None:
        output.write(shown(output, pretty(reply.body)) + b"\n")
        return
    if reply.error is not None:
        say(f"{reply.asked}: {_why(reply.error)}")


def _why(error: KdiagError) -> str:
    """Return why a node did not answer; its address is told already."""
    return f"{error.layer}: {error.why}" if isinstance(error, ConnectError) else str(error)


def _say_fixes(replies: Sequence[Reply]) -> None:
    """Say what to do about connections, each remedy once."""
    errors = (each.error for each in replies)
    fixes = (each.fix for each in errors if isinstance(each, ConnectError) and each.fix)
    for fix in dict.fromkeys(fixes):
        say(f"  {fix}")


def _print_frame(output: Output, reply: Reply, options: RequestOptions) -> None:
    text = frame_hex(reply.frame) if options.with_bytes else None
    if text is not None:
        output.line(text)
