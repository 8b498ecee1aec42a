import pytest

from kdiag.diagnosis.check.address_reach import Reach, reach_of, where


@pytest.mark.parametrize(
    ("ip", "reach"),
    [
        ("0.0.0.0", Reach.NOWHERE),
        ("::", Reach.NOWHERE),
        ("127.0.0.1", Reach.MACHINE),
        ("127.8.8.8", Reach.MACHINE),
        ("::1", Reach.MACHINE),
        ("::ffff:127.0.0.1", Reach.MACHINE),
        ("169.254.3.4", Reach.LINK),
        ("fe80::1%eth0", Reach.LINK),
        ("10.1.2.3", Reach.NETWORK),
        ("172.17.0.2", Reach.NETWORK),
        ("192.168.1.1", Reach.NETWORK),
        ("100.64.0.1", Reach.NETWORK),
        ("fd00::1", Reach.NETWORK),
        ("8.8.8.8", Reach.EVERYWHERE),
        ("2a00::1", Reach.EVERYWHERE),
    ],
)
def test_an_address_reaches_as_far_as_its_range_says(ip: str, reach: Reach) -> None:
    """IPv4 inside IPv6 counts as IPv4, and a zone does not matter."""
    assert reach_of(ip) is reach


@pytest.mark.parametrize(
    ("host", "ip", "words"),
    [
        ("localhost", "127.0.0.1", "that machine itself"),
        ("0.0.0.0", "0.0.0.0", "no address that anybody"),
        ("169.254.1.1", "169.254.1.1", "link-local"),
        ("10.0.0.5", "10.0.0.5", "private address"),
        ("172.17.0.3", "172.17.0.3", "Docker's default network"),
        ("172.18.0.3", "172.18.0.3", "private address"),
        ("host.docker.internal", None, "Docker containers"),
        ("kafka-0.kafka.default.svc.cluster.local", None, "Kubernetes"),
        ("kafka-0.kafka.default.svc", None, "Kubernetes"),
        ("3f2504e04f89", None, "id of a container"),
        ("broker1", None, "without a domain"),
    ],
)
def test_what_is_special_about_an_address_is_told(host: str, ip: str | None, words: str) -> None:
    """By its name first, then by its number."""
    said = where(host, ip)
    assert said is not None
    assert words in said


@pytest.mark.parametrize(
    ("host", "ip"),
    [
        ("kafka.example.com", "203.0.114.9"),
        ("kafka.example.com", None),
        ("broker1", "203.0.114.9"),
        ("2a00::1", None),
    ],
)
def test_nothing_is_special_about_most_addresses(host: str, ip: str | None) -> None:
    """A name that resolves to an address for everybody, and one whose lookup failed."""
    assert where(host, ip) is None
