"""Where the program begins: ready to be interrupted before anything large is loaded."""

import os
import signal

_INTERRUPTED = 130


def _end(*_: object) -> None:
    """End at once and without a word: nothing has begun yet."""
    os._exit(_INTERRUPTED)


if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _end)  # the imports below take 20 ms, in which Ctrl-C may come

import gc  # noqa: E402

from kdiag_cli.ending import run_to_end  # noqa: E402


def main() -> None:
    """Run the program, to its end."""
    run_to_end(_run)


def _run() -> None:
    gc.disable()  # until the command is loaded: modules are no garbage, and looking takes 10 ms
    from kdiag_cli.app import main as run  # noqa: PLC0415 - 50 ms, in which Ctrl-C may come

    run()


if __name__ == "__main__":
    main()
