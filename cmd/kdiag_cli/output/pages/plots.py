"""How the plots of pages are drawn, in Vega-Lite: the shape of the data, and no data.

Times are milliseconds since 1970 and shown in UTC. A plot over time has its time in the column
`start`, and the parameter `zoom`, which the page's script knows.
"""

from collections.abc import Sequence
from typing import Any, Final

_SCHEMA: Final = "https://vega.github.io/schema/vega-lite/v6.json"
_HEIGHT: Final = 260
_ROW_HEIGHT: Final = 22
_ZOOM: Final[dict[str, Any]] = {
    "name": "zoom",
    "select": {
        "type": "interval",
        "encodings": ["x"],
        "zoom": "wheel![event.shiftKey]",
    },
    "bind": "scales",
}
_PICK: Final[dict[str, Any]] = {
    "name": "pick",
    "select": {"type": "point", "fields": ["name"]},
    "bind": "legend",
}
_PICKED: Final[dict[str, Any]] = {"condition": {"param": "pick", "value": 1}, "value": 0.12}
_STACKED_BARS: Final[dict[str, Any]] = {"type": "bar", "orient": "vertical", "binSpacing": 0}
_MILLISECONDS: Final[dict[str, Any]] = {
    "field": "ms",
    "type": "quantitative",
    "title": "ms",
    "scale": {"type": "log"},
    "axis": {"format": "~r", "tickCount": 6},
}
ZOOM_NOTE: Final = (
    "Drag to move, Shift and the wheel to zoom, all charts over time with it; a click in the "
    "legend shows one alone."
)


def _start() -> dict[str, Any]:
    return {
        "field": "start",
        "type": "temporal",
        "title": None,
        "scale": {"type": "utc"},
        "axis": {"labelOverlap": True},
    }


def _colour(field: str = "name") -> dict[str, Any]:
    return {"field": field, "type": "nominal", "sort": None}


def _tip(field: str, title: str, form: str = "") -> dict[str, Any]:
    """Return a line of what is shown of a mark that is hovered."""
    if form == "time":
        form = "%Y-%m-%d %H:%M:%S.%L"
        return {"field": field, "type": "temporal", "title": title, "format": form}
    tip: dict[str, Any] = {"field": field, "title": title, "type": "nominal"}
    return tip | {"type": "quantitative", "format": form} if form else tip


def _over_time(
    mark: dict[str, Any],
    encoding: dict[str, Any],
    *,
    height: int = _HEIGHT,
    params: Sequence[dict[str, Any]] = (),
    transform: Sequence[dict[str, Any]] = (),
) -> dict[str, Any]:
    """Return a plot over time, whose legend picks one of what has a name.

    Args:
        mark: of it.
        encoding: beside time and colour.
        height: in pixels.
        params: beside those that zoom and pick.
        transform: of its data.
    """
    return {
        "$schema": _SCHEMA,
        "height": height,
        "params": [*params, _ZOOM, _PICK],
        "transform": list(transform),
        "mark": mark,
        "encoding": {"x": _start(), "color": _colour(), "opacity": _PICKED} | encoding,
    }


def percentile_lines() -> dict[str, Any]:
    """Return curves of latencies over time.

    Columns: `dimension` (`api`, `broker`, `client`), `api`, `name`, `start`, `answers` and, in
    milliseconds, `p50`, `p90`, `p99` and `most`. Parameters: `dimension`, `api`, `percentile`.
    """
    return _over_time(
        {"type": "line", "point": {"size": 28}, "strokeWidth": 1.5},
        {
            "y": _MILLISECONDS,
            "detail": {"field": "api", "type": "nominal"},
            "tooltip": [
                _tip("name", "of"),
                _tip("api", "API"),
                _tip("start", "from", "time"),
                _tip("answers", "answers", ",d"),
                *(_tip(each, f"{each}, ms", ",.3~f") for each in ("p50", "p90", "p99", "most")),
            ],
        },
        params=[
            {"name": "dimension", "value": "api"},
            {"name": "api", "value": ""},
            {"name": "percentile", "value": "p99"},
        ],
        transform=[
            {"filter": "datum.dimension === dimension"},
            {"filter": "dimension === 'api' || api === '' || datum.api === api"},
            {"calculate": "max(datum[percentile], 0.001)", "as": "ms"},
        ],
    )


def stacked_flows() -> dict[str, Any]:
    """Return rates over time, one on top of the other.

    Columns: `flow`, `dimension`, `name`, `start`, `end`, `bytes_per_s`, `records_per_s`.
    Parameters: `shown` (`produce topic` and the like), `measure`.
    """
    return _over_time(
        _STACKED_BARS,
        {
            "x2": {"field": "end"},
            "y": {
                "field": "rate",
                "type": "quantitative",
                "title": "per second",
                "stack": "zero",
                "axis": {"format": "~s", "tickCount": 5},
            },
            "tooltip": [
                _tip("name", "of"),
                _tip("start", "from", "time"),
                _tip("bytes_per_s", "bytes/s", ",d"),
                _tip("records_per_s", "records/s", ",.1~f"),
            ],
        },
        params=[
            {"name": "shown", "value": "produce topic"},
            {"name": "measure", "value": "bytes_per_s"},
        ],
        transform=[
            {"filter": "datum.flow + ' ' + datum.dimension === shown"},
            {"calculate": "datum[measure]", "as": "rate"},
        ],
    )


def stacked_errors() -> dict[str, Any]:
    """Return counts of problems over time; columns: `name`, `start`, `end`, `exchanges`."""
    return _over_time(
        _STACKED_BARS,
        {
            "x2": {"field": "end"},
            "y": {
                "field": "exchanges",
                "type": "quantitative",
                "title": "exchanges",
                "stack": "zero",
                "axis": {"tickMinStep": 1, "tickCount": 5},
            },
            "tooltip": [
                _tip("name", "problem"),
                _tip("start", "from", "time"),
                _tip("exchanges", "exchanges", ",d"),
            ],
        },
        height=_HEIGHT * 2 // 3,
    )


def _labels(field: str) -> dict[str, Any]:
    """Return the axis of what lies below each other, in the order in which it is given."""
    return {
        "field": field,
        "type": "nominal",
        "sort": None,
        "title": None,
        "axis": {"ticks": False, "domain": False},
    }


def group_timeline(groups: int) -> dict[str, Any]:
    """Return rebalances over time, a line for each group.

    Columns: `group`, `name` (the cause), `start`, `end`, `ms`, `generation`, `client`.
    """
    encoding = {
        "x": _start(),
        "y": _labels("group"),
        "color": _colour(),
        "opacity": _PICKED,
        "tooltip": [
            _tip("group", "group"),
            _tip("generation", "generation", "d"),
            _tip("name", "cause"),
            _tip("client", "client"),
            _tip("start", "from", "time"),
            _tip("ms", "ms", ",.1~f"),
        ],
    }
    return {
        "$schema": _SCHEMA,
        "height": _ROW_HEIGHT * max(2, groups),
        "layer": [
            {
                "params": [_ZOOM, _PICK],
                "mark": {"type": "bar", "height": 12},
                "encoding": encoding | {"x2": {"field": "end"}},
            },
            {"mark": {"type": "tick", "thickness": 2, "height": 14}, "encoding": encoding},
        ],
    }


def phase_bars(members: int, first: str) -> dict[str, Any]:
    """Return the phases of the members of one rebalance, beside each other.

    Columns: `rebalance`, `member`, `name` (the phase), `from_ms`, `to_ms`. Parameter: `rebalance`.

    Args:
        members: how many there are at most.
        first: the rebalance that is shown at first.
    """
    return {
        "$schema": _SCHEMA,
        "height": _ROW_HEIGHT * max(2, members),
        "params": [{"name": "rebalance", "value": first}],
        "transform": [
            {"filter": "datum.rebalance === rebalance"},
            {"calculate": "datum.to_ms - datum.from_ms", "as": "took_ms"},
        ],
        "mark": {"type": "bar", "height": 12},
        "encoding": {
            "x": {"field": "from_ms", "type": "quantitative", "title": "ms since its beginning"},
            "x2": {"field": "to_ms"},
            "y": _labels("member"),
            "color": _colour(),
            "tooltip": [
                _tip("member", "member"),
                _tip("name", "phase"),
                _tip("from_ms", "from, ms", ",.1~f"),
                _tip("took_ms", "took, ms", ",.1~f"),
            ],
        },
    }


def heat_map(rows: int) -> dict[str, Any]:
    """Return who talks to whom; columns: `client`, `broker`, `bytes`, `exchanges`, `errors`.

    Args:
        rows: how many clients there are.
    """
    return {
        "$schema": _SCHEMA,
        "height": _ROW_HEIGHT * max(2, rows),
        "mark": {"type": "rect", "stroke": "#8883"},
        "encoding": {
            "x": _labels("broker") | {"axis": {"labelAngle": 0, "labelLimit": 140}},
            "y": _labels("client"),
            "color": {
                "field": "bytes",
                "type": "quantitative",
                "title": "bytes",
                "scale": {"type": "symlog", "scheme": "blues"},
                "legend": {"orient": "bottom", "format": "~s", "gradientLength": 200},
            },
            "tooltip": [
                _tip("client", "client"),
                _tip("broker", "broker"),
                _tip("bytes", "bytes", ",d"),
                _tip("exchanges", "exchanges", ",d"),
                _tip("errors", "errors", ",d"),
            ],
        },
    }


def share_bars(rows: int, kinds: Sequence[str]) -> dict[str, Any]:
    """Return shares in percent; columns: `of`, `name` (the kind), `percent`, `frames`.

    Args:
        rows: how many values `of` has.
        kinds: the values of `name`.
    """
    return {
        "$schema": _SCHEMA,
        "height": _ROW_HEIGHT * max(2, rows),
        "mark": {"type": "bar"},
        "encoding": {
            "x": {
                "field": "percent",
                "type": "quantitative",
                "title": "% of the frames",
                "scale": {"domain": [0, 100]},
            },
            "y": _labels("of"),
            "yOffset": {"field": "name", "sort": list(kinds)},
            "color": _colour() | {"scale": {"domain": list(kinds)}},
            "tooltip": [
                _tip("of", "frames of"),
                _tip("name", "how"),
                _tip("percent", "%", ".1~f"),
                _tip("frames", "frames", ",d"),
            ],
        },
    }


def block_lines(first: str) -> dict[str, Any]:
    """Return two curves beside each other, block by block.

    Columns: `name` (`before`, `after`), `api`, `block`, and in milliseconds `p50` and `p90`.
    Parameters: `api`, `percentile`.

    Args:
        first: the API that is shown at first.
    """
    return {
        "$schema": _SCHEMA,
        "height": _HEIGHT,
        "params": [{"name": "api", "value": first}, {"name": "percentile", "value": "p50"}, _PICK],
        "transform": [
            {"filter": "datum.api === api"},
            {"calculate": "max(datum[percentile], 0.001)", "as": "ms"},
        ],
        "mark": {"type": "line", "point": {"size": 40}, "strokeWidth": 1.5},
        "encoding": {
            "x": {
                "field": "block",
                "type": "quantitative",
                "title": "block",
                "axis": {"tickMinStep": 1},
            },
            "y": _MILLISECONDS,
            "color": _colour(),
            "opacity": _PICKED,
            "tooltip": [
                _tip("name", "capture"),
                _tip("block", "block", "d"),
                _tip("p50", "p50, ms", ",.3~f"),
                _tip("p90", "p90, ms", ",.3~f"),
            ],
        },
    }
