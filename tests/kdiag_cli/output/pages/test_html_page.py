"""Pages with charts."""

import html
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from kdiag.errors import ConfigError, install_command
from kdiag_cli.output.chart import Axis, Bar, BarChart, Grid, LineChart, SpanChart, Stretch
from kdiag_cli.output.pages.html_page import Part, write_page
from programs.read_page import ReadPage

PARTS: list[Part] = [
    "The path is <20 ms> long & wide.",
    BarChart("Produce", "MB/s", [Bar("64K", 3.5, 3.4, 3.6), Bar("auto", 35, note="best </svg>")]),
    LineChart(
        "Latency",
        Axis("percentile", is_log=True, ticks={2.0: "50 %", 1 / 0.1: "90 %", 100: "it's 99 %"}),
        Axis("ms"),
        {"acks=1": [(1, 0.3), (100, 2.5)], "acks=all": [(1, 0.5), (100, 4.5)]},
    ),
    SpanChart(
        "Waits",
        "ms",
        [
            Stretch("one <1>", "for others", 0, 70),
            Stretch("one <1>", "for itself", 70, 80),
            Stretch("two", "for itself", 60, 80),
        ],
    ),
    Grid("Runs", ["direction", "MB/s"], [["produce", 35.2], ["\x1b[2Jfetch", None]]),
]


@pytest.fixture
def page(tmp_path: Path) -> Path:
    """Return a page with one part of each kind."""
    file = tmp_path / "page.html"
    write_page(file, "Buffers of <broker 1>", PARTS)
    return file


@pytest.mark.real
@pytest.mark.soak
def test_a_browser_shows_texts_charts_and_tables(
    page: Path, get_shown_page: Callable[[Path], str]
) -> None:
    """Chromium finds the bars, the curves, the labels and the cells, all of them escaped."""
    dom = get_shown_page(page)

    assert "<h1>Buffers of &lt;broker 1&gt;</h1>" in dom
    assert "<p>The path is &lt;20 ms&gt; long &amp; wide.</p>" in dom
    assert dom.count("<svg") == 3
    assert len(re.findall('aria-roledescription="bar"', dom)) == 2 + 3
    assert len(re.findall('aria-roledescription="line mark"', dom)) == 2
    for label in ("64K", "35 best &lt;/svg&gt;", "acks=all", "50 %", "90 %", "it's 99 %", "MB/s"):
        assert label in dom
    for label in ("one &lt;1&gt;", "two", "for others", "for itself"):
        assert label in dom
    cells = '<td class="short" data-name="direction">\\x1b[2Jfetch</td>'
    assert f'{cells}<td class="number" data-name="MB/s">-</td>' in dom


@pytest.mark.real
@pytest.mark.soak
def test_tables_fit_windows_of_phones_and_of_desks(
    tmp_path: Path, get_shown_page: Callable[[Path], str]
) -> None:
    """Nothing is to be scrolled sideways: a narrow window has a line for each cell."""
    headers = ["GENERATION", "TIME", "TOOK", "CAUSE", "SURE", "WHO", "HOST", "MEMBERS", "MOVED"]
    who = "billing-service-of-shops …2eb9b08053ec"
    row = [12, "2026-11-21 10:41:53.371", 451.58, "static member returned", "certain", who]
    page, frames = tmp_path / "page.html", tmp_path / "frames.html"
    write_page(page, "Wide", [Grid("Runs", headers, [[*row, "192.168.100.100", 2, "2 of 4"]])])
    text = html.escape(page.read_text())
    windows = [f'<iframe width="{each}" srcdoc="{text}"></iframe>' for each in (390, 1000, 1280)]
    script = """
      window.onload = () => {
        document.body.dataset.wider = [...document.querySelectorAll("iframe")].map((frame) => {
          const inside = frame.contentDocument;
          const boxes = [inside.documentElement, ...inside.querySelectorAll(".wide")];
          return Math.max(...boxes.map((box) => box.scrollWidth - box.clientWidth));
        }).join();
      }"""
    frames.write_text(f"<body>{''.join(windows)}<script>{script}</script></body>")

    assert 'data-wider="0,0,0"' in get_shown_page(frames)


@pytest.mark.thorough
def test_a_page_needs_nothing_but_itself(page: Path) -> None:
    """It has no script and names no address to load anything from."""
    text = page.read_text()

    read = ReadPage(text)
    assert "<script" not in text
    assert read.policy == {
        "default-src": ["'none'"],
        "style-src": read.style_hashes,
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }
    assert not read.attributes & {"style", "src", "onclick", "onload"}
    assert re.findall(r'(?:src|href)="', text) == []
    assert set(re.findall(r"https?://[^\"' ]+", text)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }


def test_a_page_replaces_a_link(tmp_path: Path) -> None:
    """What that leads to stays as it is."""
    target, file = tmp_path / "target", tmp_path / "page.html"
    target.write_text("precious")
    file.symlink_to(target)
    write_page(file, "Title", [])
    assert target.read_text() == "precious"
    assert file.read_text().startswith("<!DOCTYPE html>")


def test_a_page_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    """The option and the file are in the message."""
    file = tmp_path / "missing" / "page.html"

    with pytest.raises(
        ConfigError, match=r"--html .*missing/page.html.*cannot be written: No such"
    ):
        write_page(file, "Title", [])


def test_who_lacks_the_library_is_told_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message has the line to paste."""
    monkeypatch.setitem(sys.modules, "vl_convert", None)

    with pytest.raises(ConfigError, match=re.escape(install_command("html"))):
        write_page(tmp_path / "page.html", "Title", [])
