"""`kdiag request`: its arguments and options."""

from typing import Annotated

import typer

from kdiag.findings.rule import Severity
from kdiag.wire.catalog import Api
from kdiag_cli.options.apis import read_api
from kdiag_cli.options.completion import complete_apis, complete_destinations
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.options.live_command import NO_OPTIONS, live_command
from kdiag_cli.options.results import FailOn

EXAMPLES = """\b
Examples:
  kdiag request -b localhost:9092 Metadata
  kdiag request -b localhost:9092 DescribeCluster --to all
  kdiag request -b localhost:9092 FindCoordinator '{"coordinatorKeys": ["orders"]}'
  kdiag request -b localhost:9092 DescribeGroups '{"groups": ["orders"]}' --to coordinator:orders
  kdiag request -b localhost:9092 ListOffsets @offsets.json --to leader:orders:0
  kdiag request -b localhost:9093 DescribeQuorum @quorum.json --to bootstrap
  kdiag request -b localhost:9092 Metadata --as-version 2.8
  kdiag request Fetch --template -V 12 > fetch.json
  kdiag request Fetch --fields
  kdiag request DeleteTopics '{"topicNames": ["orders"]}' -V 5 --dry-run --bytes
  kdiag request -b localhost:9092 DeleteTopics '{"topicNames": ["orders"]}' -V 5 --yes

\b
--to is a broker's id, any, all, controller, coordinator:GROUP, coordinator:txn:ID,
leader:TOPIC:PARTITION, or bootstrap: the servers of -b themselves, which may be controllers.
`kdiag help request` has the rest.

\b
Exit codes: 0 done, 1 an error in the answer (--fail-on), 2 wrong usage, or --yes is missing,
3 cannot connect, 4 authentication, 5 authorization, 6 timeout, 7 the broker does not speak that
version, 8 some brokers did not answer.
"""


@live_command
def request(  # noqa: PLR0913 - a parameter for each option
    api: Annotated[
        Api,
        typer.Argument(
            metavar="API",
            help="Kafka's name of the request, or its number.",
            parser=read_api,
            autocompletion=complete_apis,
        ),
    ],
    body: Annotated[
        str | None,
        typer.Argument(
            metavar="JSON|@FILE|-",
            help="What to ask, in Kafka's own JSON; - is stdin. What is left out has its default.",
        ),
    ] = None,
    *,
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="WHERE",
            help="Whom to ask; see below.",
            autocompletion=complete_destinations,
        ),
    ] = "any",
    version: Annotated[
        int | None,
        typer.Option(
            "--api-version",
            "-V",
            min=0,
            metavar="N",
            help="The version. By default the newest that has the fields given and both ends know.",
        ),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Send it though it may change something.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print what would be sent, and send nothing.")
    ] = False,
    template: Annotated[
        bool, typer.Option("--template", help="Print the JSON of the request, to fill in.")
    ] = False,
    fields: Annotated[
        bool, typer.Option("--fields", help="List the fields of the request with their types.")
    ] = False,
    raw: Annotated[
        bool, typer.Option("--raw", help="Print Kafka's exact JSON, with nothing decoded in it.")
    ] = False,
    with_bytes: Annotated[
        bool, typer.Option("--bytes", help="Print the frame of the request as well, in hex.")
    ] = False,
    show_secrets: Annotated[
        bool, typer.Option("--show-secrets", help="Print passwords and tokens.")
    ] = False,
    fail_on: FailOn = Severity.ERROR,
    live: LiveOptions = NO_OPTIONS,
) -> None:
    """Send any request of Kafka's protocol."""
    from kdiag_cli.commands.request import options, run  # noqa: PLC0415 - 85 ms that --help spares

    chosen = options.RequestOptions(
        api=api,
        body=body,
        to=to,
        version=version,
        lists_fields=fields,
        is_template=template,
        is_confirmed=yes,
        is_dry_run=dry_run,
        raw=raw,
        with_bytes=with_bytes,
        show_secrets=show_secrets,
        fail_on=fail_on,
    )
    raise typer.Exit(run.run(chosen, live))
