from kdiag.diagnosis.check.report import NOT_COME_TO, CheckRow, CheckStage, CheckStatus
from kdiag_cli.commands.check.text import document, print_rows
from made_values.check_subject import MS
from programs.kdiag_program import Printed

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
    CheckRow(stage=CheckStage.ACLS, status=CheckStatus.SKIPPED, detail=NOT_COME_TO),
    CheckRow(stage=CheckStage.COORDINATOR, status=CheckStatus.SKIPPED, detail=NOT_COME_TO),
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
        "skipped                       not come to: ACLs, Coordinator",
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
