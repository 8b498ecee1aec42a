import html
import json
import re
import shutil
from pathlib import Path

import pytest

from folders import CAPTURES
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch
from programs.browser import used
from programs.kdiag_program import kdiag
from recordings.exchange_maker import capture_of, request_bytes, response_bytes

HOSTILE = "</script><script>document.title='taken'</script>\x1b[2J"
SECTIONS = [
    *("findings", "errors", "latency", "throughput", "rebalances", "clients", "topology"),
    *("tcp", "exchanges"),
]


def hostile_capture(file: Path) -> Path:
    """Write a capture of a client whose id is a script, and writes one as a key."""
    batch = write_batch([Record(0, 1_000, HOSTILE.encode(), b"one")], BatchHeader())
    data = TopicProduceData(
        name="orders", partition_data=[PartitionProduceData(index=0, records=batch)]
    )
    produce = ProduceRequest(acks=0, timeout_ms=1000, topic_data=[data])
    frames = [
        (False, request_bytes(MetadataRequest(), 1, client_id=HOSTILE)),
        (True, response_bytes(MetadataResponse(), 1)),
        (False, request_bytes(produce, 7, correlation_id=8, client_id=HOSTILE)),
        (False, request_bytes(MetadataRequest(), 1, correlation_id=9, client_id=HOSTILE)),
    ]
    file.write_bytes(capture_of(frames))
    return file


@pytest.mark.thorough
@pytest.mark.usefixtures("cached")
def test_a_page_has_all_sections_of_a_capture(tmp_path: Path) -> None:
    """Findings first, then what is drawn, the reports, and exchanges in full."""
    file = tmp_path / "page.html"

    done = kdiag("report", "--html", file, CAPTURES / "rebalance.pcap", CAPTURES / "acks.pcap")
    text = file.read_text()

    assert (done.code, done.out) == (0, "")
    assert done.err.startswith(f"kdiag: wrote {file}: ")
    assert re.findall(r'<section id="(\w+)">', text) == SECTIONS
    assert "KD4104" in text
    assert "How do brokers" not in text, "the question of the report is the heading"
    assert "How long do brokers take to answer, by API, broker and client?" in text
    places = set(re.findall(r'<details id="([\w-]+)">', text))
    links = set(re.findall(r'href="#(exchange-\d+)"', text))
    assert links
    assert links <= places


@pytest.mark.thorough
@pytest.mark.usefixtures("cached")
def test_a_finding_leads_to_the_exchange_that_shows_it(
    tmp_path: Path,
) -> None:
    """So does a row of the slowest exchanges."""
    file = tmp_path / "page.html"
    kdiag("report", "--html", file, CAPTURES / "acks.pcap")
    text = file.read_text()

    found = re.search(r'KD4104.*?<a href="#(exchange-\d+)">exchange (\d+)</a>', text, re.DOTALL)
    assert found
    shown = text[text.index(f'<details id="{found[1]}">') :]
    assert f"kdiag decode --show {found[2]})" in shown[: shown.index("</details>")]
    assert "acks&quot;: 0" in shown[: shown.index("</details>")]
    assert "Which exchanges took longest, and why?" in text


@pytest.mark.thorough
@pytest.mark.usefixtures("cached")
def test_a_page_of_tables_has_their_findings_and_says_what_is_not_in_them(tmp_path: Path) -> None:
    """What TCP did was not asked for; all else is that of the captures."""
    captures = (CAPTURES / "rebalance.pcap", CAPTURES / "acks.pcap")
    kdiag("decode", *captures, "-o", "parquet", "--out", tmp_path / "tables")
    file = tmp_path / "page.html"

    done = kdiag("report", "--html", file, tmp_path / "tables")
    text = file.read_text()

    assert done.code == 0
    assert re.search(r'KD4104.*?<a href="#(exchange-\d+)">', text, re.DOTALL)
    assert "Not judged: what compression would save (KD4103)" in text
    assert "kdiag query " in text, "what prints the evidence of a finding"
    assert "Not judged: what TCP did (KD6001 to KD6009): make the tables with --tcp" in text
    assert "joinGroup" not in text
    assert "&quot;groupId&quot;" in text, "the bodies are in the tables"


@pytest.mark.thorough
@pytest.mark.usefixtures("cached")
def test_secrets_are_redacted(tmp_path: Path) -> None:
    """The capture has passwords, of which the page shows none."""
    file = tmp_path / "page.html"
    kdiag("report", "--html", file, CAPTURES / "sasl_plain.pcap")

    text = file.read_text()
    assert "SaslAuthenticate" in text
    assert "secret" not in html.unescape(text).lower().replace("secrets are redacted", "")


@pytest.mark.thorough
@pytest.mark.usefixtures("cached")
def test_a_capture_that_is_cut_makes_a_page_that_says_so(tmp_path: Path) -> None:
    """The exit code is that of a partial result."""
    whole = (CAPTURES / "acks.pcap").read_bytes()
    (tmp_path / "cut.pcap").write_bytes(whole[:-20])
    file = tmp_path / "page.html"

    done = kdiag("report", "--html", file, tmp_path / "cut.pcap")

    assert done.code == 8
    assert "the capture ends within a packet" in file.read_text()


@pytest.mark.thorough
@pytest.mark.usefixtures("cached")
@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("page.html",), "give captures or a folder of tables"),
        (("page.html", "latency", CAPTURES / "acks.pcap"), "the page has all reports"),
        (("missing/page.html", CAPTURES / "acks.pcap"), "there is no folder missing"),
        (("page.html", "missing.pcap"), "missing.pcap"),
    ],
    ids=["no captures", "a report", "no folder", "no capture"],
)
def test_wrong_usage_is_told(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: tuple[object, ...],
    why: str,
) -> None:
    """No page is written."""
    monkeypatch.chdir(tmp_path)

    done = kdiag("report", "--html", *arguments)

    assert (done.code, done.out) == (2, "")
    assert why in done.err
    assert not (tmp_path / "page.html").exists()


@pytest.mark.thorough
@pytest.mark.usefixtures("cached")
def test_a_client_id_or_a_key_that_is_a_script_is_text(tmp_path: Path) -> None:
    """Nothing of it is an element, and its control byte is an escape; keys are there if asked."""
    file = tmp_path / "page.html"

    capture = hostile_capture(tmp_path / "hostile.pcap")
    without = kdiag("report", "--html", file, capture, "--port", 9092)
    lacking = re.findall(r'<p class="note">Reports that these tables .*</p>', file.read_text())
    assert "hot_keys (there is no table records" in lacking[0], "in one line, at the end"
    done = kdiag("report", "--html", file, capture, "--port", 9092, "--values")
    text = file.read_text()
    keys = text[text.index("Which keys are hot") :]
    keys = keys[: keys.index("</table>")]

    assert without.code == done.code == 0
    assert keys.count("&lt;script&gt;document.title") == 2, "the key, and its client"
    assert "\x1b" not in text
    assert "<script>document" not in text
    assert "&lt;script&gt;document.title=&#x27;taken&#x27;&lt;/script&gt;\\x1b[2J" in text


@pytest.mark.soak
@pytest.mark.usefixtures("get_shown_page")  # which asks for the browser
def test_a_browser_draws_the_page_of_a_hostile_capture_and_of_its_tables(tmp_path: Path) -> None:
    """All plots are there, and neither its console nor its title knows of the script."""
    shutil.copy(CAPTURES / "rebalance.pcap", tmp_path)
    hostile_capture(tmp_path / "hostile.pcap")
    file = tmp_path / "page.html"
    captures = (tmp_path / "rebalance.pcap", tmp_path / "hostile.pcap")
    kdiag("report", "--html", file, *captures, "--port", 9092)
    tables = ("-o", "parquet", "--tcp", "--out", tmp_path / "tables")
    kdiag("decode", *captures, "--port", 9092, *tables)
    kdiag("report", "--html", tmp_path / "of_tables.html", tmp_path / "tables")
    see_drawn(file, "rebalance.pcap and 1 more")
    see_drawn(tmp_path / "of_tables.html", "tables")


def see_drawn(file: Path, of: str) -> None:
    """See a page in a browser on a phone, with all its plots."""
    done = used(
        file,
        """
        const plots = Array.from(document.querySelectorAll(".plot"));
        const marks = (plot) => plot.querySelectorAll(".mark-rect path, .mark-line path, " +
          ".mark-symbol path").length;
        root.dataset.out = JSON.stringify({
          empty: plots.filter((plot) => !marks(plot)).map((plot) => plot.textContent),
          drawn: plots.length,
          small: Array.from(document.querySelectorAll(".plot svg text")).filter((text) =>
            parseFloat(getComputedStyle(text).fontSize) < 12).map((text) => text.textContent),
          title: document.title,
          wide: document.documentElement.scrollWidth <= document.documentElement.clientWidth,
        });
        """,
        "--window-size=390,800",
    )

    assert done.console == []
    found = re.search(r'data-out="([^"]*)"', done.dom)
    assert found
    assert json.loads(html.unescape(found[1])) == {
        "empty": [],
        "drawn": 6,
        "small": [],
        "title": f"Kafka traffic: {of}",
        "wide": True,
    }
