from kdiag.diagnosis.check.facts import BrokerPings, CheckedEndpoint
from kdiag.diagnosis.check.listeners import Reach, judge_listeners, reach_of, where
from kdiag.diagnosis.check.report import CheckPart, CheckStatus
from kdiag.errors import AuthenticationError, ConnectError, Fault, Layer
from kdiag.net.timed_channel import HandshakeFacts
from made_values.check_subject import certificate, endpoint, facts, metadata, refused, visit
from tiers.cases import for_each

PUBLIC = "8.8.8.8"


def judged(*listeners: CheckedEndpoint, start: str = "8.8.4.4") -> CheckPart:
    """Return what is said of listeners of a cluster that was found by an address."""
    return judge_listeners(facts([endpoint(start, visit(start))], listeners=listeners))


def ids(part: CheckPart) -> list[str]:
    """Return the ids of the findings."""
    return [each.id for each in part.findings]


def test_a_listener_that_can_be_used_is_told_with_the_time_of_each_step() -> None:
    """And the total, the lookup included where there was one."""
    part = judged(endpoint("kafka.example.com", visit(PUBLIC, host="kafka.example.com"), node_id=2))

    (row,) = part.rows
    assert (row.status, row.target) == (CheckStatus.OK, "broker 2 at kafka.example.com:9092")
    assert row.detail == "TCP 1 ms, ApiVersions 2 ms, Metadata 3 ms"
    assert row.took_ns == 10_000_000
    assert row.facts["addresses"] == [PUBLIC]
    assert (row.facts["release"], row.facts["reachable"]) == ("4.3", True)
    assert (part.findings, part.errors) == ([], [])


def test_a_listener_that_leads_nowhere_is_an_error_of_the_connection() -> None:
    """What is special about its address is part of the reason."""
    error = refused("localhost:9092")
    part = judged(endpoint("localhost", visit("127.0.0.1", error=error), node_id=2))

    (finding,) = part.findings
    assert finding.id == "KD1501"
    assert finding.title == (
        "broker 2 advertises localhost:9092, which cannot be used from here: connection refused; "
        "it is an address that means, on every machine, that machine itself"
    )
    assert finding.evidence["cause"] == "KD1101"
    assert "advertised.listeners of broker 2" in finding.fix
    assert part.errors == [error]
    (row,) = part.rows
    assert (row.status, row.detail) == (CheckStatus.ERROR, "TCP: connection refused")


def test_a_name_that_does_not_resolve_here_may_be_that_of_a_container() -> None:
    """There is no address to visit."""
    error = ConnectError("broker:9092", Layer.DNS, "no address is known", "", Fault.UNRESOLVED)
    part = judged(endpoint("broker", node_id=1, error=error))

    assert "a name without a domain, as containers have" in part.findings[0].title
    assert part.rows[0].took_ns == 4_000_000


def test_a_broker_that_hangs_is_not_told_to_change_its_address() -> None:
    """The address led to it."""
    error = ConnectError("8.8.8.8:9092", Layer.KAFKA, "no answer", "If TLS ...", Fault.SILENT)
    part = judged(endpoint("8.8.8.8", visit("8.8.8.8", error=error), node_id=3))

    (finding,) = part.findings
    assert finding.title == "8.8.8.8:9092 accepts connections but says nothing"
    assert finding.fix == "See the log of broker 3: it hangs or is overloaded."
    assert part.errors == [error]


def test_a_login_that_fails_there_has_its_own_advice() -> None:
    """The address is not to blame."""
    error = AuthenticationError(
        "8.8.8.8:9092", Layer.SASL, "refused", "Check the user", Fault.WRONG_CREDENTIALS
    )
    part = judged(endpoint("8.8.8.8", visit(error=error), node_id=3))

    (finding,) = part.findings
    assert (finding.evidence["cause"], finding.fix) == ("KD1301", "Check the user.")


def test_an_address_that_reaches_less_far_than_the_first_is_warned_of() -> None:
    """It works from here only; where one began by such an address it is no surprise."""
    listener = endpoint("10.0.0.5", visit("10.0.0.5"), node_id=1)

    assert ids(judged(listener)) == ["KD1502"]
    assert judged(listener).rows[0].status is CheckStatus.WARNING
    assert ids(judged(listener, start="192.168.0.1")) == []
    assert ids(judged(listener, start="127.0.0.1")) == []


def test_brokers_must_not_share_an_address() -> None:
    """Upper and lower case are the same to DNS."""
    part = judged(
        endpoint("kafka.example.com", visit(PUBLIC), node_id=1),
        endpoint("Kafka.example.com", visit(PUBLIC), node_id=2),
    )

    (finding,) = part.findings
    assert finding.id == "KD1503"
    assert finding.title == "brokers 1, 2 advertise the same address, kafka.example.com:9092"


def test_an_address_may_lead_to_another_cluster() -> None:
    """As localhost does on a machine with a Kafka of its own."""
    other = visit(PUBLIC, said=metadata(1, cluster_id="other"))
    part = judged(endpoint("kafka.example.com", other, node_id=1))

    assert ids(part) == ["KD1504"]
    assert "cluster other answers" in part.findings[0].title


def test_one_of_several_addresses_may_lead_nowhere() -> None:
    """Clients take the next, sooner or later."""
    part = judged(
        endpoint("kafka.example.com", visit("8.8.8.9", error=refused()), visit(PUBLIC), node_id=1)
    )

    assert ids(part) == ["KD1103"]
    assert part.rows[0].facts["reachable"]
    assert part.errors == []


def test_a_certificate_that_ends_soon_and_brokers_of_two_releases_are_warned_of() -> None:
    """Each is found at the listener where it is."""
    tls = HandshakeFacts("TLSv1.3", "TLS_AES_256_GCM_SHA384", (certificate(days_left=3),))
    old = visit(PUBLIC, level=21)
    assert old.versions is not None
    old.versions.api_keys[0].max_version = 12
    part = judged(
        endpoint("a.example.com", visit("8.8.8.9", tls=tls), node_id=1),
        endpoint("b.example.com", old, node_id=2),
    )

    assert ids(part) == ["KD1206", "KD5001"]
    assert [row.facts["release"] for row in part.rows] == ["4.3", "3.9"]


@for_each(
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


@for_each(
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


@for_each(
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


MS = 1_000_000


@for_each(
    ("slow_ms", "knows_path", "found"),
    [
        ([574] * 12, True, ["KD4403"]),
        ([2, *[574] * 11], False, ["KD4403"]),
        ([574] * 12, False, []),
        ([2] * 11 + [574], True, []),
        ([], True, []),
    ],
    ids=["slow", "quick once", "far away", "one pause", "not asked again"],
)
def test_a_broker_that_answers_late_again_and_again_is_slow(
    slow_ms: list[int], found: list[str], *, knows_path: bool
) -> None:
    """By ranks, as in captures; one late answer, or a long way, is no proof."""
    listeners = [endpoint(PUBLIC, visit(PUBLIC), node_id=each) for each in (1, 2)]
    pings = {
        1: BrokerPings([each * MS for each in range(1, 13)], knows_path=True),
        2: BrokerPings([each * MS for each in slow_ms], knows_path=knows_path),
    }
    checked = facts([endpoint(PUBLIC, visit(PUBLIC))], listeners=listeners, pings=pings)
    assert [each for each in ids(judge_listeners(checked)) if each != "KD1503"] == found
