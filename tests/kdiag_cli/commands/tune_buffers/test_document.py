import msgspec

from kdiag.diagnosis.buffers.facts import BrokerPath, LoadDirection
from kdiag.diagnosis.buffers.findings import Measured
from kdiag.diagnosis.buffers.report import report
from kdiag.errors import ConnectError, Layer
from kdiag_cli.commands.tune_buffers.document import document
from made_values.buffer_cases import GBIT, KERNEL, KIB, LIMITS, make_path, make_run
from programs.kdiag_program import kdiag

RUNS = [
    make_run(LoadDirection.PRODUCE, 64 * KIB, 3.5, window_bytes=127_000, retransmits=2),
    make_run(LoadDirection.PRODUCE, KERNEL, 5.7, window_bytes=127_000),
]


def test_a_broker_is_told_in_the_shape_that_is_promised() -> None:
    """-1 means left to the kernel."""
    told = document(report(Measured(make_path(), RUNS, LIMITS, GBIT)))

    assert told["node_id"] == 1
    assert told["path"] == {
        "rtt_ms": 20.0,
        "mss": 1448,
        "window_scale": {"client": 7, "broker": 7},
        "congestion_control": "cubic",
        "effective_send_buffer_bytes": 43520,
        "effective_receive_buffer_bytes": 65536,
    }
    assert (told["request_rtt_ms"], told["least_request_rtt_ms"]) == (22.0, 21.0)
    assert told["bdp_bytes"] == 2_500_000
    assert told["limits"]["tcp_wmem"] == (4096, 16384, 4 << 20)
    assert told["broker_config"]["send_buffer_bytes"] == 102400
    assert told["runs"][0] == {
        "direction": "produce",
        "load": "full",
        "send_buffer_bytes": 65536,
        "receive_buffer_bytes": 65536,
        "effective_send_buffer_bytes": 65536,
        "effective_receive_buffer_bytes": 65536,
        "mb_per_s": 3.5,
        "mb_per_s_low": 3.5,
        "mb_per_s_high": 3.5,
        "retransmits": 2,
        "window_bytes": 127_000,
        "throttled_ms": 0,
        "rounds": 1,
    }
    assert told["runs"][1]["send_buffer_bytes"] == -1
    assert told["ceilings"][0]["bound_by"] == "batches_in_flight"
    assert told["binds"]["produce"]["kernel"] == "broker_buffer"
    assert told["recommendation"]["send_buffer_bytes"] == -1
    assert told["recommendation"]["is_proven"]
    assert told["advice"][0]["client"] == "java"
    assert msgspec.json.decode(msgspec.json.encode(told))["runs"][1]["mb_per_s"] == 5.7


def test_what_is_not_known_is_null() -> None:
    """Of a broker that could not be reached there is the reason."""
    refused = ConnectError("far:9092", Layer.TCP, "connection refused")
    told = document(report(Measured(BrokerPath(1, "far:9092", error=refused), (), LIMITS, GBIT)))
    assert told["error"] == "far:9092: TCP: connection refused"
    assert told["path"]["rtt_ms"] is None
    assert told["path"]["window_scale"] == {"client": None, "broker": None}
    assert (told["ceilings"], told["runs"], told["advice"]) == ([], [], [])


def test_every_key_is_explained() -> None:
    """In `kdiag help buffers`."""
    told = document(report(Measured(make_path(), RUNS, LIMITS, GBIT)))
    page = kdiag("help", "buffers").out
    inner = ("path", "limits", "broker_config", "recommendation")
    keys = [*told, *(key for name in inner for key in told[name])]
    keys += [*told["ceilings"][0], *told["advice"][0]]
    keys += [key for key in told["runs"][0] if not key.startswith("effective_")]

    assert [key for key in keys if key not in page] == []
