from kdiag.diagnosis.buffers.facts import BrokerPath, LoadDirection, LoadKind
from kdiag.diagnosis.buffers.findings import Measured
from kdiag.diagnosis.buffers.report import BufferReport, report
from kdiag_cli.commands.tune_buffers.text import charts, print_reports
from made_values.buffer_cases import GBIT, KERNEL, KIB, LIMITS, make_path, make_run
from programs.kdiag_program import Printed

RUNS = [
    make_run(LoadDirection.PRODUCE, 64 * KIB, 3.5, window_bytes=127_000, retransmits=2),
    make_run(LoadDirection.PRODUCE, KERNEL, 5.7, window_bytes=127_000),
    make_run(LoadDirection.PRODUCE, KERNEL, 3.3, window_bytes=127_000, load=LoadKind.DEFAULTS),
]
REPORT = report(Measured(make_path(), RUNS, LIMITS, GBIT))


def printed(
    *reports: BufferReport, width: int | None = None, has_headers: bool = True
) -> list[str]:
    """Return the lines that are printed in a pipe, or on a terminal of this width."""
    output = Printed(width)
    print_reports(output, reports, has_headers=has_headers)
    return output.lines


def test_a_pipe_gets_tables_sentences_and_lines_to_paste() -> None:
    """Paths, ceilings, runs; what that means; what to set where."""
    lines = printed(REPORT)

    assert lines[1].split("\t")[:5] == ["1", "far:9092", "20.0", "22.0", "1448"]
    assert "1\tproduce\tfull\t64K\t65536\t65536\t3.5\t3.5\t3.5\t2\t1" in lines
    assert "1\tproduce\tclient_defaults\tkernel\t2097152\t16777216\t3.3\t3.3\t3.3\t0\t1" in lines
    assert any(line.startswith("Java with its defaults produces at most") for line in lines)
    assert "Produce: left to the kernel is the fastest, 5.7 MB/s (5.7 to 5.7)." in lines
    assert lines[lines.index("broker, for broker 1:") + 1] == "  socket.send.buffer.bytes=-1"


def test_a_ceiling_that_comes_from_an_option_names_it() -> None:
    """It is no ceiling of the path."""
    path = make_path(0.1, send=KERNEL, receive=KERNEL)
    lines = printed(report(Measured(path, (), LIMITS, GBIT // 100)))
    assert any(line.startswith("1\tlibrdkafka\tproduce\t1.25\t--rate\t") for line in lines)


def test_headers_can_be_left_out() -> None:
    """Of all tables."""
    assert not [line for line in printed(REPORT, has_headers=False) if "NODE-ID" in line]


def test_a_terminal_gets_bars_in_place_of_the_runs() -> None:
    """One chart for each direction that was tried; losses stand beside the bars."""
    lines = printed(REPORT, width=100)
    start = lines.index("broker 1: produce, MB/s")
    labels = [line.split("  ")[0] for line in lines[start + 1 : start + 4]]

    assert labels == ["64K", "kernel", "kernel, default batches"]
    assert lines[start + 1].endswith("2 retransmits")
    assert not [line for line in lines if line.startswith("broker 1: fetch")]
    assert not [line for line in lines if "RETRANSMITS" in line]


def test_fetches_have_a_chart_of_their_own() -> None:
    """With default fetches beside it."""
    runs = [make_run(LoadDirection.FETCH, KERNEL, 3, load=LoadKind.DEFAULTS)]
    (chart,) = charts(report(Measured(make_path(), runs, LIMITS, GBIT)))
    assert (chart.title, chart.bars[0].label) == ("broker 1: fetch", "kernel, default fetches")


def test_lost_window_scaling_is_shown_with_the_path() -> None:
    """It is worth more than all that follows."""
    path = make_path()
    assert path.facts is not None
    lost = path._replace(facts=path.facts._replace(send_window_scale=None))
    assert printed(report(Measured(lost, (), LIMITS, GBIT)))[1].split("\t")[5] == "lost"


def test_an_unreached_broker_has_its_line() -> None:
    """And nothing else."""
    unknown = report(Measured(BrokerPath(2, "far:9093"), (), LIMITS, GBIT))
    assert printed(unknown, has_headers=False) == ["2\tfar:9093" + "\t-" * 8]
