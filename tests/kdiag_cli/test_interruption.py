import os
import signal

import pytest

from kdiag_cli.interruption import Interruption


def interrupt() -> None:
    """Do what Ctrl-C does."""
    os.kill(os.getpid(), signal.SIGINT)


def test_it_ends_at_once_what_only_waits() -> None:
    """As it does without any of this; afterwards the signal is whose it was."""
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), Interruption():
        interrupt()
    assert signal.getsignal(signal.SIGINT) == before


def test_it_waits_for_the_end_of_a_piece() -> None:
    """What was begun is done."""
    done = []

    def work() -> None:
        with Interruption() as interruption:
            with interruption.postponed():
                interrupt()
                done.append("piece")
            done.append("more")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["piece"]


def test_it_does_not_wait_for_what_does_not_end() -> None:
    """Nobody reads the pipe, so the write would not return."""
    reader, writer = os.pipe()

    def work() -> None:
        with Interruption(grace_s=0.05) as interruption, interruption.postponed():
            interrupt()
            os.write(writer, bytes(1 << 20))

    with pytest.raises(KeyboardInterrupt):
        work()
    os.close(reader)
    os.close(writer)


def test_a_second_one_does_not_wait() -> None:
    """Who insists is obeyed."""
    done = []

    def work() -> None:
        with Interruption() as interruption, interruption.postponed():
            interrupt()
            done.append("one")
            interrupt()
            done.append("two")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["one"]


def test_a_piece_that_nobody_interrupts_is_only_a_piece() -> None:
    """One after the other."""
    with Interruption() as interruption:
        for _ in range(2):
            with interruption.postponed():
                pass
