import json

from kdiag.wire.error_code import ERROR_BY_CODE
from kdiag_cli.commands.help.errcode import EXAMPLES, complete_errors
from programs.kdiag_program import kdiag
from tiers.cases import for_each


def test_one_error_is_explained() -> None:
    """What it is called and means, causes, what to do, and where it is met."""
    done = kdiag("errcode", 16)

    assert done.code == 0
    assert done.err == ""
    assert done.out.startswith("NOT_COORDINATOR (16)\n  Another broker coordinates")
    for part in (
        "Usual causes\n  - ",
        "What to do\n  ",
        "Retriable: yes\n",
        "Returned by: JoinGroup,",
    ):
        assert part in done.out
    assert done.out.endswith("In Java: NotCoordinatorException\n")


def test_an_error_of_librdkafka_is_said_to_be_one() -> None:
    """A code that begins with a minus is no option."""
    done = kdiag("errcode", "-195")

    assert done.out.startswith("_TRANSPORT (-195)\n")
    assert done.out.endswith("Of: librdkafka, never on the wire\n")
    assert "Usual causes" not in done.out
    assert "Retriable" not in done.out


def test_long_sentences_are_wrapped() -> None:
    """The lines below a cause stand below its text."""
    lines = kdiag("errcode", 15).out.splitlines()

    assert max(map(len, lines)) <= 100
    assert any(line.startswith("    ") for line in lines)


def test_several_errors_are_listed() -> None:
    """In a pipe with tabs."""
    done = kdiag("errcode", "coordinator")

    head, *rows = [line.split("\t") for line in done.out.splitlines()]
    assert head == ["CODE", "NAME", "RETRIABLE", "MEANING"]
    assert [row[0] for row in rows] == ["14", "15", "16", "52"]
    assert rows[-1][2] == "no"
    assert kdiag("errcode", "--no-headers", "coordinator").out.splitlines() == [
        "\t".join(row) for row in rows
    ]


def test_several_arguments_are_told_one_after_the_other() -> None:
    """An empty line is between them."""
    done = kdiag("errcode", "15", "NOT_COORDINATOR")

    assert done.out == kdiag("errcode", "15").out + "\n" + kdiag("errcode", "16").out


def test_without_an_argument_all_are_listed() -> None:
    """Kafka's come first."""
    rows = kdiag("errcode", "--no-headers").out.splitlines()

    codes = [int(row.split("\t")[0]) for row in rows]
    assert codes[: len(ERROR_BY_CODE)] == list(ERROR_BY_CODE)
    assert len(codes) > len(ERROR_BY_CODE) + 50


def test_programs_get_one_document() -> None:
    """Its shape is that of every live command."""
    document = json.loads(kdiag("errcode", "-o", "json", "15", "fenced").out)

    assert list(document) == ["schema", "command", "data", "warnings", "findings"]
    assert document["command"] == "errcode"
    first, *rest = document["data"]
    assert list(first) == [
        "code",
        "name",
        "source",
        "java_exception",
        "is_retriable",
        "meaning",
        "causes",
        "fix",
        "apis",
    ]
    assert first["name"] == "COORDINATOR_NOT_AVAILABLE"
    assert all("FENCED" in each["name"] for each in rest)
    everything = json.loads(kdiag("errcode", "-o", "json").out)
    assert len(everything["data"]) > len(ERROR_BY_CODE)


def test_what_is_not_known_is_wrong_usage_and_near_names_are_told() -> None:
    """Nothing is printed of the others."""
    done = kdiag("errcode", "15", "NOT_CORDINATOR", "zzz")

    assert done.code == 2
    assert done.out == ""
    first, second = done.err.splitlines()
    assert first.startswith("kdiag: no error is called 'NOT_CORDINATOR'; did you mean NOT_COORD")
    assert second == "kdiag: no error is called 'zzz': kdiag errcode lists all"


@for_each("line", [line for line in EXAMPLES.splitlines() if "kdiag " in line])
def test_the_examples_in_the_help_run(line: str) -> None:
    """They are typed as they stand."""
    done = kdiag(*line.split()[1:])

    assert (done.code, done.err) == (0, "")


def test_a_shell_is_complete_errors_with_their_meaning() -> None:
    """For shells that show it."""
    assert dict(complete_errors())["NOT_COORDINATOR"].startswith("Another broker")
