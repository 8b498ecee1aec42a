import json

import pytest

from kdiag.net.tcp.tcp_info import SocketFacts
from kdiag_cli.commands.latency.document import (
    document,
    failures,
    lacking,
    name_of,
    percent_text,
    unknown,
)
from kdiag_cli.output.result import encode
from made_values.latency_run_maker import made_results


def test_a_kind_of_latencies_is_told_with_bounds_and_parts() -> None:
    """Percentiles to the microsecond; the parts of each add up to it."""
    rows = json.loads(encode({"data": document(made_results())}))["data"]
    first = rows[0]
    assert (first["kind"], first["acks"], first["count"]) == ("produce", "1", 400)
    assert (first["min_ms"], first["max_ms"]) == (1.0, 4.99)
    assert first["confidence"] == 0.95
    median = first["percentiles"][0]
    assert median["percentile"] == 50
    assert median["low_ms"] < median["ms"] < median["high_ms"]
    assert median["ms"] == pytest.approx(2.99, abs=0.01)
    for said in [*first["percentiles"][:3], {"ms": first["mean_ms"]}]:
        parts = said.get("parts_ms", first["mean_parts_ms"])
        whole = parts["network"] + parts["broker"] + parts["client"]
        assert whole == pytest.approx(said["ms"], abs=0.003)
        assert sum(parts["detail"].values()) == pytest.approx(said["ms"], abs=0.004)
    assert median["parts_ms"]["network"] == pytest.approx(0.5, abs=0.002)
    assert median["parts_ms"]["client"] == pytest.approx(0.1, abs=0.002)


@pytest.mark.thorough
def test_a_percentile_for_which_there_are_too_few_is_none() -> None:
    """It says how many it takes."""
    rare = document(made_results())[0]["percentiles"][3]
    assert rare == {"percentile": 99.9, "ms": None, "needed_count": 3688}
    (warning,) = lacking(made_results())
    assert warning.startswith("not enough samples: p99.9 takes 3688, some have 400;")
    assert list(lacking(made_results(4000))) == []


def test_what_was_refused_has_errors_alone() -> None:
    """By their names."""
    row = next(each for each in document(made_results()) if each["kind"] == "commit")
    assert row == {
        "kind": "commit",
        "acks": None,
        "count": 0,
        "errors": {"GROUP_AUTHORIZATION_FAILED": 1},
    }
    assert list(failures(made_results())) == [
        "commit: 1 of them failed: GROUP_AUTHORIZATION_FAILED"
    ]


def test_fetches_and_connections_follow() -> None:
    """With the sentence that explains the one, and what TCP saw of the other."""
    *_, waits, connection = document(made_results())
    assert waits["returned"] == {
        "at_wait_empty": 24,
        "at_wait_with_data": 0,
        "early_with_data": 1,
        "early_empty": 0,
    }
    assert waits["explanation"].startswith("96 % of fetches returned at the 500 ms wait")
    assert connection == {
        "kind": "connection",
        "node_id": 1,
        "purpose": "produce acks=1",
        "min_rtt_ms": 0.4,
        "rtt_ms": 0.9,
        "retransmits": 0,
        "congestion_control": "cubic",
    }


def test_a_system_that_tells_no_round_trips_is_no_secret() -> None:
    """Parts cannot be told apart there."""
    results = made_results()
    assert list(unknown(results)) == []
    results.facts = {place: SocketFacts(1, 1) for place in results.facts}
    (said,) = unknown(results)
    assert said.startswith("this operating system does not report TCP round-trip times; ")


def test_brokers_have_their_means() -> None:
    """All latencies of a kind belong to one of them."""
    row = document(made_results(nodes=3))[0]
    assert [each["node_id"] for each in row["brokers"]] == [1, 2, 3]
    assert sum(each["count"] for each in row["brokers"]) == row["count"]


def test_kinds_have_names_for_people() -> None:
    """And percentiles have short ones."""
    names = [name_of(each) for each in made_results().series.values()]
    assert names == ["produce acks=1", "produce acks=all", "commit"]
    assert [percent_text(each) for each in (0.5, 0.999)] == ["p50", "p99.9"]
