"""Diagnostics and protocol toolkit for Apache Kafka.

The protocol is a value; input and output are drivers. Bytes become frames, frames become messages,
a request and its response become an exchange; every diagnosis reads exchanges.

The names in `__all__` stay what they are from one version to the next: `kdiag help library` shows
each. They are imported when they are asked for, so that `import kdiag` costs nothing.
"""

TYPE_CHECKING = False  # what `typing` has under this name costs milliseconds; checkers know it
if TYPE_CHECKING:
    from kdiag.client.connect import connect
    from kdiag.errors import KdiagError
    from kdiag.report.capture import open_capture
    from kdiag.wire.codec.frames import decode_request, decode_response, encode_request

__version__ = "0.1.0"

__all__ = [
    "KdiagError",
    "__version__",
    "connect",
    "decode_request",
    "decode_response",
    "encode_request",
    "open_capture",
]

_MODULES = {
    "KdiagError": "kdiag.errors",
    "connect": "kdiag.client.connect",
    "decode_request": "kdiag.wire.codec.frames",
    "decode_response": "kdiag.wire.codec.frames",
    "encode_request": "kdiag.wire.codec.frames",
    "open_capture": "kdiag.report.capture",
}


if not TYPE_CHECKING:  # else checkers would take every misspelt name for granted

    def __getattr__(name: str) -> object:
        """Import a name of `__all__` from its module (PEP 562)."""
        from importlib import import_module  # noqa: PLC0415 - 1 ms, for those who ask

        module = _MODULES.get(name)
        if module is None:
            raise AttributeError(f"module 'kdiag' has no attribute {name!r}")
        found = globals()[name] = getattr(import_module(module), name)
        return found


def __dir__() -> list[str]:
    """Return the names that are here, loaded or not."""
    return sorted({*globals(), *__all__})
