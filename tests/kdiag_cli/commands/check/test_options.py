from kdiag.client.config.load import ConfigSources, load_config
from kdiag.diagnosis.check.facts import Exposure
from kdiag.findings.rule import Severity
from kdiag.probe.check.run import LIMIT_NS
from kdiag_cli.commands.check.options import CheckOptions, exposure_of, login_text, plan_of
from tiers.cases import for_each

SECURITY = "org.apache.kafka.common.security"
OAUTHBEARER = f"{SECURITY}.oauthbearer.OAuthBearerLoginModule"
SCRAM = f"{SECURITY}.scram.ScramLoginModule"
CAROL = 'unsecuredLoginStringClaim_sub="carol"'
DELEGATION_TOKEN = 'username="id" password="hidden" tokenauth="true"'
S = 1_000_000_000
OPTIONS = CheckOptions(["a", "b", "a"], "g", True, False, Severity.ERROR, True)  # noqa: FBT003


@for_each(
    ("properties", "text"),
    [
        ([], None),
        (
            ["sasl.mechanism=PLAIN", "sasl.username=alice", "sasl.password=hidden"],
            "PLAIN as alice",
        ),
        (["sasl.mechanism=OAUTHBEARER", "sasl.oauthbearer.token=hidden"], "OAUTHBEARER"),
        (
            [
                "sasl.mechanism=OAUTHBEARER",
                f"sasl.jaas.config={OAUTHBEARER} required {CAROL};",
            ],
            "OAUTHBEARER as carol",
        ),
        (
            [
                "sasl.mechanism=SCRAM-SHA-256",
                f"sasl.jaas.config={SCRAM} required {DELEGATION_TOKEN};",
            ],
            "SCRAM-SHA-256 with delegation token id",
        ),
    ],
)
def test_who_logs_in_is_told_without_secrets(properties: list[str], text: str | None) -> None:
    """Mechanism and user."""
    protocol = ["security.protocol=SASL_PLAINTEXT"] if properties else []
    sources = ConfigSources(properties=["bootstrap.servers=a:1", *protocol, *properties])
    assert login_text(load_config(sources)) == text


LOGIN = ("sasl.username=a", "sasl.password=b")
ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
CLIENT = ("sasl.oauthbearer.client.id=a", "sasl.oauthbearer.client.secret=hidden")


@for_each(
    ("properties", "exposure"),
    [
        (("security.protocol=SSL",), Exposure()),
        (
            ("security.protocol=SSL", "enable.ssl.certificate.verification=false"),
            Exposure(verifies_certificate=False),
        ),
        (
            ("security.protocol=SSL", "ssl.endpoint.identification.algorithm="),
            Exposure(verifies_hostname=False),
        ),
        (
            ("security.protocol=SASL_SSL", "sasl.mechanism=PLAIN", *LOGIN),
            Exposure(secret="password"),
        ),
        (("security.protocol=SASL_SSL", "sasl.mechanism=SCRAM-SHA-256", *LOGIN), Exposure()),
        (
            (
                "security.protocol=SASL_SSL",
                "sasl.mechanism=OAUTHBEARER",
                f"{ENDPOINT}=http://u@idp:80/t?x",
                *CLIENT,
            ),
            Exposure(secret="token", open_endpoint="http://idp:80"),
        ),
        (
            (
                "security.protocol=SASL_SSL",
                "sasl.mechanism=OAUTHBEARER",
                f"{ENDPOINT}=https://idp/t",
                *CLIENT,
            ),
            Exposure(secret="token"),
        ),
    ],
)
def test_what_a_login_gives_away_is_known(properties: list[str], exposure: Exposure) -> None:
    """PLAIN and OAUTHBEARER send their secret as it is, SCRAM proves that it knows one."""
    sources = ConfigSources(properties=["bootstrap.servers=a:1", *properties])
    assert exposure_of(load_config(sources)) == exposure


@for_each(
    ("properties", "timeout_ns", "limit_ns"),
    [
        ([], None, LIMIT_NS),
        ([], S, S * 8 // 10),
        ([], 1000 * S, LIMIT_NS),
        (["socket.connection.setup.timeout.ms=7000"], None, 7 * S),
    ],
)
def test_a_round_of_connections_has_its_limit(
    properties: list[str], timeout_ns: int | None, limit_ns: int
) -> None:
    """That of the settings, and so short that there is time left to report."""
    config = load_config(ConfigSources(properties=["bootstrap.servers=a:1", *properties]))
    plan = plan_of(OPTIONS, config, timeout_ns)
    assert plan.limit_ns == limit_ns
    assert (plan.topics, plan.groups, plan.is_quick) == (("a", "b"), ("g",), True)
