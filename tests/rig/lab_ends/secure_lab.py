"""A lab with a listener of each protocol and every mechanism, its certificates, and one user.

with secure_lab(folder) as lab:
    lab.bootstrap_of("SASL_SSL")
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from kdiag.clock import SystemClock
from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.broker.traffic_recorder import TrafficRecorder
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.security.certificates import make_certificates
from kdiag.lab.security.listener import PROTOCOLS, SSL, ListenerSettings
from kdiag.lab.security.users import MECHANISMS, UserStore
from kdiag.net.tls.context import TlsSettings

USER: Final = "alice"
PASSWORD: Final = 'se=cr,et"\u00e9'


@contextmanager
def secure_lab(folder: Path, recorder: TrafficRecorder | None = None) -> Iterator[LabCluster]:
    """Run a lab; its listener SSL wants a client's certificate.

    Args:
        folder: gets `ca.pem`, `broker.pem` and `client.pem`.
        recorder: records its traffic.
    """
    files = make_certificates(folder, ["localhost", "127.0.0.1"], SystemClock())
    tls = TlsSettings(truststore_location=str(files.authority), keystore_location=str(files.broker))
    auths = {each: "required" if each == SSL else "none" for each in PROTOCOLS if "SSL" in each}
    listeners = tuple(
        ListenerSettings(
            each,
            tls=tls._replace(client_auth=auths[each]) if each in auths else None,
            mechanisms=MECHANISMS,
        )
        for each in PROTOCOLS
    )
    settings = LabSettings(
        topics=(NewTopic("orders", 2),),
        listeners=listeners,
        users=UserStore({USER: PASSWORD}),
        recorder=recorder,
    )
    with LabCluster(settings) as lab:
        yield lab
