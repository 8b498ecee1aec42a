import stat
from pathlib import Path

from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509 import load_pem_x509_certificate

from kdiag.clock import SystemClock
from kdiag.diagnosis.check.tls import SOON_DAYS
from kdiag.lab.security.certificates import make_certificates
from kdiag.net.tls.certificate import read_certificate


def test_certificates_are_for_the_hosts_and_of_one_authority(tmp_path: Path) -> None:
    """Their owner alone reads them."""
    files = make_certificates(tmp_path, ["localhost", "127.0.0.1", "::1"], SystemClock())
    found = {}
    for path in files:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        text = path.read_text()
        der = load_pem_x509_certificate(text.encode()).public_bytes(Encoding.DER)
        found[path.name] = read_certificate(der)
        assert ("PRIVATE KEY" in text) is (path != files.authority)
    assert {each.issuer for each in found.values()} == {"CN=kdiag lab authority"}
    assert found["broker.pem"].host_names == ("localhost", "127.0.0.1", "::1")
    assert found["client.pem"].subject == "CN=client"


def test_a_new_lab_has_no_certificate_that_is_about_to_expire(tmp_path: Path) -> None:
    """`kdiag check` on it would warn of a certificate that was made a second ago."""
    clock = SystemClock()
    for path in make_certificates(tmp_path, ["localhost"], clock):
        certificate = load_pem_x509_certificate(path.read_bytes())
        read = read_certificate(certificate.public_bytes(Encoding.DER))
        assert read.days_left(clock.epoch_ns()) > SOON_DAYS
