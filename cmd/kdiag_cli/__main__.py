"""Where the program begins: ready to be interrupted before anything large is loaded."""

from kdiag_cli.ending import run_to_end


def main() -> None:
    """Run the program, to its end."""
    run_to_end(_run)


def _run() -> None:
    from kdiag_cli.app import main as run  # noqa: PLC0415 - 50 ms, in which Ctrl-C may come

    run()


if __name__ == "__main__":
    main()
