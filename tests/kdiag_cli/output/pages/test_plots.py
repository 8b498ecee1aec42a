from typing import Any

import pytest
import vl_convert

from kdiag_cli.output.pages import plots
from tiers.cases import for_each

TIMED = {"name": "a", "start": 1e12, "end": 1e12 + 1000}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "percentiles": (
        plots.percentile_lines(),
        TIMED
        | {"dimension": "api", "api": "a", "answers": 3, "p50": 1, "p90": 2, "p99": 3, "most": 3},
    ),
    "flows": (
        plots.stacked_flows(),
        TIMED | {"flow": "produce", "dimension": "topic", "bytes_per_s": 2, "records_per_s": 3},
    ),
    "errors": (plots.stacked_errors(), TIMED | {"exchanges": 4}),
    "timeline": (
        plots.group_timeline(1),
        TIMED | {"group": "g", "ms": 1000, "generation": 2, "client": "c"},
    ),
    "phases": (
        plots.phase_bars(1, "one"),
        {"rebalance": "one", "member": "m", "name": "joins", "from_ms": 0, "to_ms": 5},
    ),
    "heat map": (
        plots.heat_map(1),
        {"client": "c", "broker": "b", "bytes": 10, "exchanges": 1, "errors": 0},
    ),
    "blocks": (
        plots.block_lines("a"),
        {"name": "before", "api": "a", "block": 1, "p50": 1, "p90": 2},
    ),
    "shares": (
        plots.share_bars(1, ("split", "shared")),
        {"of": "Fetch", "name": "split", "percent": 5, "frames": 1},
    ),
}


@pytest.mark.thorough
@for_each("case", CASES)
def test_each_drawing_is_one_that_vega_lite_understands(case: str) -> None:
    """It has a mark, and all that its encoding names is in the data."""
    drawing, row = CASES[case]
    known = {*row, "ms", "rate", "took_ms"}
    fields = {
        channel["field"]
        for layer in drawing.get("layer", [drawing])
        for channels in layer["encoding"].values()
        for channel in (channels if isinstance(channels, list) else [channels])
        if isinstance(channel, dict) and "field" in channel
    }

    assert fields <= known
    drawn = vl_convert.vegalite_to_vega(drawing | {"data": {"values": [row]}, "width": 300})
    assert drawn["marks"]


@pytest.mark.thorough
@for_each("case", ["percentiles", "flows", "errors", "timeline"])
def test_what_is_over_time_can_be_zoomed(case: str) -> None:
    """The page's script sets the signal `zoom_start` of all of them."""
    drawing, row = CASES[case]
    drawn = vl_convert.vegalite_to_vega(drawing | {"data": {"values": [row]}, "width": 300})

    assert "zoom_start" in {each["name"] for each in drawn["signals"]}
