import json
import re
from pathlib import Path

import pytest

from kdiag.errors import ConfigError
from kdiag_cli.output.pages import plots
from kdiag_cli.output.pages.chart_script import ChartScript
from kdiag_cli.output.pages.parts import (
    Choice,
    Detail,
    PageLink,
    PageSection,
    Plot,
    Quantity,
    Remark,
    SortableTable,
)
from kdiag_cli.output.pages.script_page import write_script_page
from programs.browser import used
from programs.read_page import ReadPage

HOSTILE = (
    "</script><script>document.title='taken'</script><img src=x onerror=alert(1)>\x1b[2J\x9b\u202e"
)
TABLE = SortableTable(
    "Runs",
    ("who", "time", "count"),
    [
        (PageLink("b", "one"), Quantity(2_000, "2.00 ms"), 3),
        (HOSTILE, Quantity(10, "10 µs"), 1_000),
        ("c", None, 20),
    ],
    left_out=4,
    more="kdiag report latency x",
)
STARTS = [1_767_323_045_000.0 + 1000 * number for number in range(10)]
ERRORS = Plot(
    "Errors <over> time",
    plots.stacked_errors(),
    {
        "name": [HOSTILE, *["NOT_COORDINATOR"] * 9],
        "start": STARTS,
        "end": [each + 1000 for each in STARTS],
        "exchanges": list(range(1, 11)),
    },
    is_over_time=True,
)
FLOWS = Plot(
    "Flows",
    plots.stacked_flows(),
    {
        "flow": ["produce"] * 10,
        "dimension": ["topic"] * 5 + ["client"] * 5,
        "name": [HOSTILE] * 10,
        "start": STARTS,
        "end": [each + 1000 for each in STARTS],
        "bytes_per_s": [1.0] * 10,
        "records_per_s": [2.0] * 10,
    },
    [Choice("shown", "Show", {"produce topic": "topics", "produce client": HOSTILE})],
    is_over_time=True,
)
SECTIONS = [
    PageSection("found", "Found", [Remark("error", HOSTILE, [HOSTILE], [PageLink("see", "one")])]),
    PageSection("drawn", "Drawn", [ERRORS, FLOWS, "A <paragraph>."]),
    PageSection("empty", "Empty", []),
    PageSection(
        "read", "Read", [TABLE, Detail("one", HOSTILE, [("id", HOSTILE)], [("t", HOSTILE)])]
    ),
]


def page_of(folder: Path, script: str = "/* no charts */") -> Path:
    """Write the page."""
    file = folder / "page.html"
    size = write_script_page(file, f"Traffic of {HOSTILE}", ["one & all"], SECTIONS, script)
    assert size == file.stat().st_size
    return file


def test_every_text_is_escaped(tmp_path: Path) -> None:
    """Wherever a name from the wire stands, it is no element, and no control byte is left."""
    text = page_of(tmp_path).read_text()

    assert "<img" not in text
    assert "\x1b" not in text
    assert text.count("<script") == 2 + 2, "two blocks of data, Vega-Lite, the page's own"
    assert "&lt;img src=x onerror=alert(1)&gt;\\x1b[2J" in text
    assert "<p>A &lt;paragraph&gt;.</p>" in text


def test_data_is_json_that_is_not_run(tmp_path: Path) -> None:
    """A browser reads the same values that were given."""
    text = page_of(tmp_path).read_text()
    found = re.findall(r'<script type="application/json" id="data-\d+">(.*?)</script>', text)

    assert [json.loads(each)["columns"] for each in found] == [ERRORS.columns, FLOWS.columns]
    assert "<" not in "".join(found)
    assert all(character.isprintable() for character in "".join(found))


def test_a_table_says_what_it_is_sorted_by(tmp_path: Path) -> None:
    """Numbers stand to the right with their value; what is left out is told with the command."""
    text = page_of(tmp_path).read_text()

    assert '<td class="number" data-value="2000">2.00 ms</td>' in text
    assert '<td class="number" data-value="1000">1,000</td>' in text
    assert '<td class="number">-</td>' in text
    assert '<td class="long">&lt;/script&gt;' in text
    assert '<td><a href="#one">b</a></td>' in text
    assert "4 rows more: kdiag report latency x shows all" in text


def test_sections_without_parts_are_left_out(tmp_path: Path) -> None:
    """The table of contents has the others."""
    text = page_of(tmp_path).read_text()

    assert re.findall(r'<a href="#(\w+)">\w+</a>', text)[:3] == ["found", "drawn", "read"]
    assert 'id="empty"' not in text


def test_a_page_needs_no_network(tmp_path: Path) -> None:
    """It names no address to load anything from."""
    text = page_of(tmp_path).read_text()

    assert re.findall(r'(?:src|href)="(?!#)', text) == []
    assert "@import" not in text
    assert "url(" not in text


def test_a_page_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    """What was there stays."""
    file = tmp_path / "missing" / "page.html"

    with pytest.raises(
        ConfigError, match=r"--html .*missing/page.html.*cannot be written: No such"
    ):
        write_script_page(file, "Title", [], [], "")


def test_a_page_allows_its_own_script_and_style_alone(tmp_path: Path) -> None:
    """The policy stands before everything that it is about, and has the hash of each."""
    text = page_of(tmp_path, "draw('ä');\n").read_text()
    read = ReadPage(text)

    assert len(read.run) == 2
    assert read.policy == {
        "default-src": ["'none'"],
        "style-src": read.style_hashes,
        "script-src": read.script_hashes,
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }
    assert text.index("Content-Security-Policy") < text.index("<title>") < text.index("<style>")
    assert not read.attributes & {"style", "src"}
    assert not [each for each in read.attributes if each.startswith("on")]


@pytest.mark.soak
@pytest.mark.usefixtures("get_shown_page")  # which asks for the browser
def test_a_browser_runs_and_fetches_nothing_that_got_into_a_page(tmp_path: Path) -> None:
    """Even if a text was not escaped."""
    file = page_of(tmp_path, ChartScript().text())
    taken = "document.documentElement.dataset.taken = 1"
    smuggled = (
        f'<script>{taken}</script><b onclick="{taken}" style="color: red">x</b>'
        f'<img src="data:image/png;base64,AA==" onerror="{taken}"><base href="http://example.org/">'
    )
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("<main>", f"<main>{smuggled}"), encoding="utf-8")

    done = used(file, 'document.querySelector("main b").click();')

    assert "data-taken" not in done.dom
    assert len([each for each in done.console if "Content Security Policy" in each]) >= 4


@pytest.mark.soak
@pytest.mark.usefixtures("get_shown_page")  # which asks for the browser
def test_a_browser_draws_sorts_filters_and_zooms(tmp_path: Path) -> None:
    """Nothing is wrong on its console, and no text of the wire is run."""
    done = used(
        page_of(tmp_path, ChartScript().text()),
        """
        const out = {}, tell = (name, value) => { out[name] = value; };
        const pause = () => new Promise((done) => setTimeout(done, 300));
        const bars = (n) => document.querySelectorAll(`#plot-${n} .mark-rect path`).length;
        const labels = (n) => document.querySelectorAll(`#plot-${n} .role-axis-label text`);
        const ticks = (n) => Array.from(labels(n), (label) => label.textContent).sort().join();
        tell("drawn", [bars(0), bars(1)]);
        const times = [0, 1].map(ticks);
        document.querySelector('#plot-0 [data-zoom="0.5"]').click();
        await pause();
        tell("zoomed", [0, 1].map((n) => ticks(n) !== times[n]));
        document.querySelector('#plot-1 [data-zoom="0"]').click();
        await pause();
        tell("all", [0, 1].map((n) => ticks(n) === times[n]));
        const select = document.querySelector("#plot-1 select");
        select.value = "produce client";
        select.dispatchEvent(new Event("change"));
        await pause();
        const cells = (n) => Array.from(document.querySelectorAll(`tbody td:nth-child(${n})`),
          (cell) => cell.textContent);
        const heads = document.querySelectorAll("th button");
        heads[2].click();
        tell("down", cells(3));
        heads[2].click();
        tell("up", cells(3));
        heads[1].click();
        tell("unknown last", cells(2));
        heads[0].click();
        tell("words", cells(1).map((text) => text[0]));
        const input = document.querySelector('input[type="search"]');
        input.value = "ONERROR 10";
        input.dispatchEvent(new Event("input"));
        tell("filtered", document.querySelector(".table output").textContent);
        location.hash = "#one";
        await pause();
        tell("unfolded", document.getElementById("one").open);
        const mark = document.querySelector("#plot-0 .mark-rect path");
        const box = mark.getBoundingClientRect();
        for (const kind of ["pointerover", "pointermove", "mousemove"]) {
          mark.dispatchEvent(new PointerEvent(kind, { bubbles: true, clientX: box.x + box.width / 2,
            clientY: box.y + box.height / 2 }));
        }
        await pause();
        const tip = document.getElementById("vg-tooltip-element");
        tell("tip", getComputedStyle(tip).visibility);
        const menu = document.querySelector("#plot-0 details");
        menu.querySelector("summary").click();
        await pause();
        tell("menu", getComputedStyle(menu.querySelector(".vega-actions")).position);
        menu.querySelectorAll("a").forEach((link) => link.dispatchEvent(new Event("mousedown")));
        await pause();
        tell("saved", Array.from(menu.querySelectorAll("a"), (link) => link.href.split(":")[0]));
        tell("hovered", mark.getAttribute("aria-label").slice(0, 8));
        tell("title", document.title.startsWith("Traffic of <\\/script>"));
        tell("images", document.querySelectorAll("img").length);
        root.dataset.out = JSON.stringify(out);
        """,
    )

    assert done.console == []
    found = re.search(r'data-out="([^"]*)"', done.dom)
    assert found
    assert json.loads(
        found[1].replace("&quot;", '"').replace("&gt;", ">").replace("&lt;", "<")
    ) == {
        "drawn": [10, 5],
        "zoomed": [True, True],
        "all": [True, True],
        "down": ["1,000", "20", "3"],
        "up": ["3", "20", "1,000"],
        "unknown last": ["2.00 ms", "10 µs", "-"],
        "words": ["<", "b", "c"],
        "filtered": "1 of 3 rows",
        "unfolded": True,
        "hovered": "start: J",
        "tip": "visible",
        "menu": "absolute",
        "saved": ["blob", "data"],
        "title": True,
        "images": 0,
    }
