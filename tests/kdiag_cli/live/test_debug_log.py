"""`--debug` on scripted brokers."""

import logging
import re

from kdiag_cli.live.debug_log import debug_log
from programs.json_run import settings
from programs.kdiag_program import kdiag
from scripted_kafka.coordinating_cluster import coordinating_cluster
from scripted_kafka.foreign_server import hanging_up
from scripted_kafka.scripted_broker import HOLD


def test_each_step_is_a_line_on_stderr() -> None:
    """By name, size and time; what goes to stdout is the same."""
    with coordinating_cluster(2) as cluster:
        command = ("request", "-b", cluster.bootstrap, "ListGroups", "--to", "2")
        usual, done = kdiag(*command), kdiag(*command, "--debug")
    assert (done.code, done.out) == (usual.code, usual.out)
    time = r"kdiag: \d\d:\d\d:\d\d\.\d{3} node"
    assert re.search(rf"{time} 2: connecting to 127\.0\.0\.1:\d+\n", done.err)
    assert re.search(rf"{time} 2: ListGroups v5 \d+: sent, \d+ bytes\n", done.err)
    assert re.search(rf"{time} 2: ListGroups v5 \d+: answered in [\d.]+ ms, \d+ bytes", done.err)


def test_a_request_without_answer_is_seen() -> None:
    """That is what it is for."""
    with coordinating_cluster(2) as cluster:
        cluster.brokers[1].on("DescribeGroups", HOLD)
        options = ("--to", "1", "--timeout", "300ms", "--debug")
        done = kdiag("request", "-b", cluster.bootstrap, "DescribeGroups", "{}", *options)
    assert re.search(r"DescribeGroups v\d+ \d+: sent", done.err)
    assert not re.search(r"DescribeGroups v\d+ \d+: answered", done.err)


def test_a_login_is_logged_without_its_secret() -> None:
    """Nor is any other content."""
    login = settings(
        security_protocol="SASL_PLAINTEXT",
        sasl_mechanism="PLAIN",
        sasl_username="alice",
        sasl_password="hush-hush",
    )
    with hanging_up() as port:
        done = kdiag("check", "-b", f"127.0.0.1:{port}", *login, "--debug")
    assert "ApiVersions" in done.err
    assert "the connection ended" in done.err
    assert "hush" not in done.err


def test_afterwards_nothing_is_logged() -> None:
    """A program that uses the library keeps its own settings."""
    logger = logging.getLogger("kdiag")
    before = (logger.level, list(logger.handlers))
    with debug_log():
        assert logger.isEnabledFor(logging.DEBUG)
    assert (logger.level, list(logger.handlers)) == before
