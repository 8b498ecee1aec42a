"""Kafka's Java clients take the settings that a lab writes for clients as they are."""

import subprocess
from pathlib import Path

import pytest

from kdiag.clock import SystemClock
from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.security.users import UserStore
from kdiag_cli.commands.lab.access import make_access, write_client_files
from kdiag_cli.commands.lab.options import LabListener, LabOptions
from real_kafka import kafka_jars
from real_kafka.releases import USUAL

pytestmark = pytest.mark.soak

_DEADLINE_S = 120
OPTIONS = LabOptions((), "127.0.0.1", 0, None, "4.3", is_json=False, client_auth="required")


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512", "OAUTHBEARER"])
def test_java_logs_in_with_the_file_of_a_lab(tmp_path: Path, mechanism: str) -> None:
    """Over TLS, with a certificate of its own and by SASL."""
    kafka_jars.require_programs("java")
    options = OPTIONS._replace(listeners=(LabListener("SASL_SSL"),), mechanisms=(mechanism,))
    access = make_access(options, tmp_path, SystemClock())
    topics = (NewTopic("orders", 1),)
    settings = LabSettings(topics, listeners=access.listeners, users=UserStore(access.users))
    with LabCluster(settings) as lab:
        (file,) = write_client_files(lab, access)
        command = kafka_jars.java_command(
            kafka_jars.jars(USUAL), "org.apache.kafka.tools.TopicCommand"
        )
        asked = ("--list", "--bootstrap-server", lab.bootstrap, "--command-config", str(file))
        done = subprocess.run(
            [*command, *asked], capture_output=True, text=True, timeout=_DEADLINE_S, check=False
        )
    assert (done.returncode, done.stdout.split()) == (0, ["orders"]), done.stderr
