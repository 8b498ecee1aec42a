from programs.kdiag_program import kdiag


def test_the_help_shows_examples_and_exit_codes() -> None:
    """They are what people copy."""
    done = kdiag("check", "--help")

    assert done.code == 0
    assert "kdiag check -b localhost:9092 --quick --nagios" in done.out
    assert "0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN" in done.out


def test_without_a_broker_it_is_wrong_usage() -> None:
    """Of the settings, which is told."""
    done = kdiag("check", "-b", "")
    assert done.code == 2
    assert "bootstrap.servers" in done.err


def test_topics_are_repeated_and_a_timeout_is_a_time() -> None:
    """What is wrong with an option is told before anybody is asked."""
    done = kdiag("check", "-b", "localhost", "-t", "a", "-t", "b", "--timeout", "soon")
    assert done.code == 2
    assert "'soon' is not a duration" in done.err
