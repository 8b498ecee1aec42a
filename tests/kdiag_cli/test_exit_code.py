from kdiag_cli.exit_code import ExitCode


def test_exit_codes_are_those_that_scripts_rely_on() -> None:
    """The numbers are a contract; 2 is also what wrong usage gives everywhere."""
    assert {each.name: each.value for each in ExitCode} == {
        "DONE": 0,
        "FINDINGS": 1,
        "USAGE": 2,
        "CANNOT_CONNECT": 3,
        "NOT_AUTHENTICATED": 4,
        "NOT_AUTHORIZED": 5,
        "TIMEOUT": 6,
        "UNSUPPORTED": 7,
        "PARTIAL": 8,
        "INTERRUPTED": 130,
    }
