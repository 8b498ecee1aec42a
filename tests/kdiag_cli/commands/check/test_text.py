from client_ends.client_peers import closed_port
from kdiag.diagnosis.check.report import (
    NOT_REACHED,
    CheckPart,
    CheckRow,
    CheckStage,
    CheckStatus,
)
from kdiag.errors import ConnectError, Layer
from kdiag.findings.finding import found
from kdiag_cli.commands.check.text import document, plugin_status, print_rows, summary
from kdiag_cli.live.plugin import PluginStatus
from made_values.check_subject import MS
from programs.kdiag_program import Printed, kdiag
from tiers.cases import for_each

ROWS = [
    CheckRow(
        stage=CheckStage.DNS, status=CheckStatus.OK, target="k", took_ns=MS, detail="::1, 127.0.0.1"
    ),
    CheckRow(
        stage=CheckStage.TCP,
        status=CheckStatus.OK,
        target="a:1",
        took_ns=2 * MS,
        detail="connected",
    ),
    CheckRow(
        stage=CheckStage.TCP,
        status=CheckStatus.OK,
        target="b:1",
        took_ns=13 * MS,
        detail="connected",
    ),
    CheckRow(
        stage=CheckStage.TLS,
        status=CheckStatus.ERROR,
        target="a:1",
        took_ns=MS,
        detail="e\x1b[31mvil",
    ),
    CheckRow(stage=CheckStage.PARTITIONS, status=CheckStatus.SKIPPED, detail="no answer in time"),
    CheckRow(stage=CheckStage.ACLS, status=CheckStatus.SKIPPED, detail=NOT_REACHED),
    CheckRow(stage=CheckStage.COORDINATOR, status=CheckStatus.SKIPPED, detail=NOT_REACHED),
]


def test_rows_that_say_the_same_are_one_line_on_a_terminal() -> None:
    """With the longest of their times; what was not come to is the last line."""
    output = Printed(100)
    print_rows(output, ROWS)

    assert output.lines == [
        "STATUS   STAGE          TIME  WHAT",
        "ok       DNS          1.0 ms  k: ::1, 127.0.0.1",
        "ok       TCP         13.0 ms  a:1, b:1: connected",
        "error    TLS          1.0 ms  a:1: e\\x1b[31mvil",
        "skipped  Partitions           no answer in time",
        "skipped                       not reached: ACLs, Coordinator",
    ]


def test_headers_can_be_left_out() -> None:
    """The status is what is in colour."""
    output = Printed(100, has_colour=True)
    print_rows(output, ROWS[:1], has_headers=False)
    assert output.lines == ["\x1b[32mok\x1b[0m  DNS  1.0 ms  k: ::1, 127.0.0.1"]


def test_in_a_pipe_every_row_is_a_line() -> None:
    """With a tab between the cells."""
    output = Printed()
    print_rows(output, ROWS)

    assert output.lines[0] == "STATUS\tSTAGE\tMS\tTARGET\tDETAIL"
    assert output.lines[3] == "ok\tTCP\t13.0\tb:1\tconnected"
    assert output.lines[5] == "skipped\tPartitions\t-\t-\tno answer in time"
    assert len(output.lines) == 1 + len(ROWS)


def test_a_document_has_the_facts_of_its_stage() -> None:
    """Beside the keys that all stages have."""
    row = CheckRow(
        stage=CheckStage.ACLS,
        status=CheckStatus.OK,
        target="cluster",
        detail="Read",
        facts={"operations": 1},
    )
    assert document(row) == {
        "stage": "ACLs",
        "status": "ok",
        "target": "cluster",
        "took_ms": None,
        "detail": "Read",
        "operations": 1,
    }
    assert document(ROWS[4])["target"] is None


METADATA = CheckRow(stage=CheckStage.METADATA, status=CheckStatus.OK, detail="cluster x, 3 brokers")
REFUSED = ConnectError("a:1", Layer.TCP, "refused")
WARNING = found("KD2007", node_id=3)
ERROR = found("KD2008", why="silence", advice="See its log")
NOTE = found("KD2004", count=2)


@for_each(
    ("report", "status"),
    [
        (CheckPart(), PluginStatus.OK),
        (CheckPart(findings=[NOTE]), PluginStatus.OK),
        (CheckPart(findings=[NOTE, WARNING]), PluginStatus.WARNING),
        (CheckPart(findings=[WARNING, ERROR]), PluginStatus.CRITICAL),
        (CheckPart(errors=[REFUSED]), PluginStatus.CRITICAL),
        (CheckPart(error_names=["GROUP_AUTHORIZATION_FAILED"]), PluginStatus.CRITICAL),
    ],
)
def test_a_report_is_as_bad_as_the_worst_of_it(report: CheckPart, status: PluginStatus) -> None:
    """Notes are no warnings."""
    assert plugin_status(report) is status


def test_the_line_says_what_is_worst() -> None:
    """And how much more of that there is; else what the cluster is."""
    assert summary(CheckPart(rows=[METADATA], findings=[NOTE])) == "cluster x, 3 brokers"
    assert (
        summary(CheckPart(findings=[NOTE, ERROR, WARNING])) == f"KD2008 {ERROR.title}. {ERROR.fix}"
    )
    again = found("KD2007", node_id=4)
    assert " (and 1 more). " in summary(CheckPart(findings=[WARNING, again]))
    assert summary(CheckPart()) == "no answer"


def test_the_exit_code_of_the_program_is_that_of_the_plugin() -> None:
    """Not kdiag's own."""
    done = kdiag("check", "-b", f"127.0.0.1:{closed_port()}", "--nagios", "--quick")
    assert done.code == 2
    assert done.out.startswith("KAFKA CRITICAL - KD1101 nothing listens on 127.0.0.1")
