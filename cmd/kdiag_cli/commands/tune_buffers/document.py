"""The document of `kdiag tune-buffers --output json`."""

from typing import Any, Final

from kdiag.diagnosis.buffers.facts import BrokerPath
from kdiag.diagnosis.buffers.report import BufferReport
from kdiag.diagnosis.buffers.trials import Trial
from kdiag_cli.output.result import milliseconds

_DIGITS: Final = 2


def document(report: BufferReport) -> dict[str, Any]:
    """Return one broker; -1 means left to the kernel, null means unknown."""
    path = report.path
    return {
        "node_id": path.node_id,
        "address": path.address,
        "error": None if path.error is None else str(path.error),
        "path": _path(path),
        "request_rtt_ms": milliseconds(path.request_rtt_ns),
        "least_request_rtt_ms": milliseconds(path.least_request_rtt_ns),
        "bdp_bytes": report.bdp_bytes,
        "limits": report.limits._asdict(),
        "broker_config": path.config._asdict(),
        "ceilings": [each._asdict() for each in report.ceilings],
        "runs": [_trial(each) for each in report.trials],
        "binds": {
            each.direction.value: {
                "defaults": each.defaults,
                "kernel": each.kernel,
                "sentences": each.sentences,
            }
            for each in report.bounds
        },
        "recommendation": {
            "send_buffer_bytes": report.send.size_bytes,
            "receive_buffer_bytes": report.receive.size_bytes,
            "reason": f"{report.send.reason}; {report.receive.reason}",
            "within_noise": report.send.within_noise and report.receive.within_noise,
            "is_proven": report.send.is_proven or report.receive.is_proven,
        },
        "advice": [each._asdict() for each in report.advice],
    }


def _path(path: BrokerPath) -> dict[str, Any]:
    facts = path.facts
    return {
        "rtt_ms": milliseconds(path.rtt_ns),
        "mss": facts and facts.send_mss,
        "window_scale": {
            "client": facts and facts.receive_window_scale,
            "broker": facts and facts.send_window_scale,
        },
        "congestion_control": facts and facts.congestion_control,
        "effective_send_buffer_bytes": facts and facts.effective_send_buffer_bytes,
        "effective_receive_buffer_bytes": facts and facts.effective_receive_buffer_bytes,
    }


def _trial(trial: Trial) -> dict[str, Any]:
    return {
        "direction": trial.direction,
        "load": trial.load,
        "send_buffer_bytes": trial.size_bytes,
        "receive_buffer_bytes": trial.size_bytes,
        "effective_send_buffer_bytes": trial.effective_send_bytes,
        "effective_receive_buffer_bytes": trial.effective_receive_bytes,
        "mb_per_s": round(trial.mb_per_s, _DIGITS),
        "mb_per_s_low": round(trial.low_mb_per_s, _DIGITS),
        "mb_per_s_high": round(trial.high_mb_per_s, _DIGITS),
        "retransmits": trial.retransmits,
        "window_bytes": trial.window_bytes,
        "throttled_ms": milliseconds(trial.throttled_ns),
        "rounds": trial.runs,
    }
