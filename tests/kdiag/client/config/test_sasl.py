from pathlib import Path

import pytest

from kdiag.client.config.load import ClientConfig, ConfigSources, load_config
from kdiag.client.config.sasl import SaslConfig
from kdiag.client.config.sources import Setting
from kdiag.client.config.values import Secret
from kdiag.errors import ConfigError
from tiers.cases import for_each

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
IAM = "software.amazon.msk.auth.iam.IAMLoginModule"
IAM_LOGIN = "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler"
KERBEROS = "com.sun.security.auth.module.Krb5LoginModule"


def config(mechanism: str, *properties: str, options: tuple[Setting, ...] = ()) -> ClientConfig:
    """Return the configuration of a client that logs in."""
    first = ("security.protocol=SASL_SSL", f"sasl.mechanism={mechanism}")
    return load_config(ConfigSources(options=options, properties=(*first, *properties)))


def sasl(mechanism: str, *properties: str) -> SaslConfig:
    """Return how a client logs in."""
    found = config(mechanism, *properties).sasl
    assert found is not None
    return found


@for_each("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@for_each(
    "properties",
    [
        ("sasl.username=alice", "sasl.password=s3cret"),
        (f'sasl.jaas.config={PLAIN} required username="alice" password="s3cret";',),
        (f"sasl.jaas.config={SCRAM} required username='alice' password='s3cret';",),
        (f'sasl.jaas.config={PLAIN} required password="s3cret";', "sasl.username=alice"),
    ],
)
def test_credentials_are_given_in_javas_way_or_in_librdkafkas(
    mechanism: str, properties: tuple[str, ...]
) -> None:
    """Or with one of each."""
    assert sasl(mechanism, *properties) == SaslConfig(mechanism, "alice", Secret("s3cret"))
    assert "s3cret" not in repr(config(mechanism, *properties))


def test_a_password_is_read_from_its_file(tmp_path: Path) -> None:
    """Without the end of the line; it may hold anything else."""
    file = tmp_path / "password"
    file.write_bytes(b" p\xfcss word=;\r\n")

    password = sasl("PLAIN", "sasl.username=a", f"sasl.password.file={file}").password

    assert password == " p\udcfcss word=;"


@pytest.mark.parametrize("data", [b"", b"\n", b"two\nlines\n"])
def test_a_password_is_one_line(tmp_path: Path, data: bytes) -> None:
    """The wrong file is told before the broker refuses it."""
    file = tmp_path / "password"
    file.write_bytes(data)

    with pytest.raises(
        ConfigError, match=r"sasl\.password\.file \(-X\): expected one line"
    ) as error:
        sasl("PLAIN", "sasl.username=a", f"sasl.password.file={file}")
    assert "two" not in str(error.value)


def test_the_source_that_counts_more_gives_the_password(tmp_path: Path) -> None:
    """Name by name: a file with a JAAS configuration still gives the user's name."""
    password, client = tmp_path / "password", tmp_path / "client.properties"
    password.write_text("from the option\n")
    client.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\n"
        f'sasl.jaas.config={PLAIN} required username="alice" password="from JAAS";\n'
    )
    option = Setting("sasl.password.file", str(password), "--password-file", "--password-file")

    found = load_config(ConfigSources(options=(option,), file=str(client)))
    origins = {each.key: each.origin for each in found.values.in_force()}
    assert found.sasl == SaslConfig("PLAIN", "alice", Secret("from the option"))
    assert origins["sasl.password"] == f"--password-file {password}"
    assert origins["sasl.username"] == f"{client}:3"

    environment = {"KDIAG_SASL_PASSWORD": "from a variable"}
    found = load_config(ConfigSources(file=str(client), environment=environment))
    assert found.sasl == SaslConfig("PLAIN", "alice", Secret("from a variable"))

    client.write_text(f"{client.read_text()}sasl.password=beside JAAS\n")
    found = load_config(ConfigSources(file=str(client)))
    assert found.sasl == SaslConfig("PLAIN", "alice", Secret("beside JAAS"))


def test_a_delegation_token_logs_in_with_scram() -> None:
    """Its id is the name, its HMAC the password."""
    jaas = f'{SCRAM} required username="id" password="aG1hYw==" tokenauth=true;'
    assert sasl("SCRAM-SHA-256", f"sasl.jaas.config={jaas}").is_delegation_token
    assert not sasl("SCRAM-SHA-256", "sasl.username=a", "sasl.password=b").is_delegation_token


@for_each(
    ("properties", "expected"),
    [
        (["sasl.oauthbearer.token=abc"], SaslConfig("OAUTHBEARER", token=Secret("abc"))),
        (["sasl.oauthbearer.token.file=/t"], SaslConfig("OAUTHBEARER", token_file="/t")),
        (["sasl.oauthbearer.token.command=a b"], SaslConfig("OAUTHBEARER", token_command="a b")),
        (
            [
                (
                    f"sasl.jaas.config={OAUTH} required unsecuredLoginStringClaim_sub=a"
                    " unsecuredLoginExtension_x='1' extension_y='2' other='3';"
                )
            ],
            SaslConfig(
                "OAUTHBEARER",
                unsecured={"unsecuredLoginStringClaim_sub": "a"},
                extensions={"y": "2", "x": "1"},
            ),
        ),
        (
            [
                "enable.sasl.oauthbearer.unsecure.jwt=true",
                "sasl.oauthbearer.config=principalClaimName=azp principal=a scope=b",
                "sasl.oauthbearer.extensions=x=1,y=2",
            ],
            SaslConfig(
                "OAUTHBEARER",
                unsecured={
                    "unsecuredLoginPrincipalClaimName": "azp",
                    "unsecuredLoginStringClaim_azp": "a",
                },
                extensions={"x": "1", "y": "2"},
            ),
        ),
    ],
)
def test_tokens_come_from_files_and_commands_or_are_made(
    properties: list[str], expected: SaslConfig
) -> None:
    """What Java's login module and librdkafka are told, and kdiag's own settings."""
    assert sasl("OAUTHBEARER", *properties) == expected


@pytest.mark.parametrize(
    "properties",
    [
        [
            "sasl.oauthbearer.client.credentials.client.id=kdiag",
            "sasl.oauthbearer.client.credentials.client.secret=s3cret",
            "sasl.oauthbearer.scope=a b",
        ],
        [
            "sasl.oauthbearer.method=oidc",
            "sasl.oauthbearer.client.id=kdiag",
            "sasl.oauthbearer.client.secret=s3cret",
            "sasl.oauthbearer.scope=a b",
        ],
        [f"sasl.jaas.config={OAUTH} required clientId=kdiag clientSecret='s3cret' scope='a b';"],
    ],
)
def test_an_identity_provider_is_asked_with_client_credentials(properties: list[str]) -> None:
    """As Kafka names them since 4.1, as librdkafka does, or in JAAS as Kafka did before."""
    endpoint = "sasl.oauthbearer.token.endpoint.url=https://idp/token"
    expected = SaslConfig(
        "OAUTHBEARER",
        token_endpoint="https://idp/token",
        client_id="kdiag",
        client_secret=Secret("s3cret"),
        scope="a b",
        https_ca_file="/ca.pem",
    )
    found = sasl("OAUTHBEARER", endpoint, "https.ca.location=/ca.pem", *properties)
    assert found == expected
    assert "s3cret" not in repr(found)


@for_each(
    ("url", "warned"),
    [
        ("http://idp/token", "http://idp"),
        ("HTTP://user:pw@127.0.0.1:8080/token?a=b", "http://127.0.0.1:8080"),
        ("https://idp/token", ""),
        ("https://idp/http://x", ""),
    ],
)
def test_a_client_secret_that_is_not_encrypted_is_a_warning(url: str, warned: str) -> None:
    """With where it goes to, and without what may be secret in the address."""
    settings = ["sasl.oauthbearer.client.id=kdiag", "sasl.oauthbearer.client.secret=s3cret"]
    found = config("OAUTHBEARER", f"sasl.oauthbearer.token.endpoint.url={url}", *settings).warnings
    told = [each for each in found if "unencrypted" in each]
    assert len(told) == bool(warned)
    assert all(f"the client secret goes to {warned} unencrypted; use" in each for each in told)
    assert not any("pw" in each or "s3cret" in each for each in told)


@for_each(
    ("mechanism", "properties", "why"),
    [
        ("GSSAPI", [], "GSSAPI (Kerberos) is not supported"),
        ("PLAIN", [f"sasl.jaas.config={KERBEROS} required;"], "GSSAPI (Kerberos) is not supported"),
        (
            "PLAIN",
            ["sasl.jaas.config=a.NtlmLoginModule required;"],
            "expected one of the login modules",
        ),
        ("PLAIN", ["sasl.jaas.config=nonsense"], "expected the word `required`"),
        ("PLAIN", [], "PLAIN needs a user name"),
        ("SCRAM-SHA-256", ["sasl.username=a"], "SCRAM-SHA-256 needs a password"),
        ("OAUTHBEARER", [], "OAUTHBEARER needs a token"),
        (
            "OAUTHBEARER",
            ["sasl.oauthbearer.token.endpoint.url=https://idp/token"],
            "needs the client's id as well",
        ),
        (
            "OAUTHBEARER",
            [
                "sasl.oauthbearer.token.endpoint.url=https://idp/token",
                "sasl.oauthbearer.client.id=kdiag",
            ],
            "needs the client's secret as well",
        ),
        (
            "OAUTHBEARER",
            [
                "sasl.oauthbearer.token.endpoint.url=https://idp/token",
                "sasl.oauthbearer.grant.type=urn:ietf:params:oauth:grant-type:jwt-bearer",
            ],
            "client credentials alone",
        ),
        ("OAUTHBEARER", ["sasl.oauthbearer.extensions=x"], "expected name=value"),
        *(
            ("OAUTHBEARER", [f"sasl.oauthbearer.token.endpoint.url={url}"], "https:// or http://")
            for url in ("file:///etc/passwd", "FILE:/x", "ftp://a/t", "jar:file:/x", "/etc/passwd")
        ),
    ],
)
def test_what_is_missing_or_cannot_be_done_is_told(
    mechanism: str, properties: list[str], why: str
) -> None:
    """Before any broker is asked."""
    with pytest.raises(ConfigError) as error:
        config(mechanism, *properties)
    assert why in error.value.why
    assert error.value.origin == "-X"


def test_a_mechanism_that_nobody_chose_is_told_as_such() -> None:
    """Kafka's default is the one that is not supported."""
    with pytest.raises(ConfigError, match=r"^sasl\.mechanism \(default\): GSSAPI"):
        load_config(ConfigSources(properties=["security.protocol=SASL_SSL"]))


def test_a_login_module_for_another_mechanism_is_told() -> None:
    """The credentials are good enough for kdiag; Java clients would fail."""
    jaas = f'{PLAIN} required username="a" password="b";'

    warnings = config("SCRAM-SHA-512", f"sasl.jaas.config={jaas}").warnings

    assert "sasl.jaas.config (-X): Java clients need ScramLoginModule for SCRAM-SHA-512" in warnings
    assert not any("Java" in each for each in config("PLAIN", f"sasl.jaas.config={jaas}").warnings)


@for_each(
    ("mechanism", "properties", "profile", "region"),
    [
        ("AWS_MSK_IAM", (f"sasl.jaas.config={IAM} required;",), "", ""),
        ("aws_msk_iam", (), "", ""),
        ("AWS_MSK_IAM", (f'sasl.jaas.config={IAM} required awsProfileName="dev";',), "dev", ""),
        ("AWS_MSK_IAM", ("sasl.aws.profile=dev", "sasl.aws.region=eu-west-1"), "dev", "eu-west-1"),
        (
            "OAUTHBEARER",
            (
                f"sasl.jaas.config={OAUTH} required awsProfileName='dev';",
                f"sasl.login.callback.handler.class={IAM_LOGIN}",
            ),
            "dev",
            "",
        ),
    ],
)
def test_credentials_of_aws_are_used_as_by_its_java_library(
    mechanism: str, properties: tuple[str, ...], profile: str, region: str
) -> None:
    """By its own mechanism, by the tokens that it makes for OAUTHBEARER, or in kdiag's words."""
    handler = (
        "sasl.client.callback.handler.class=software.amazon.msk.auth.iam.IAMClientCallbackHandler"
    )
    found = config(mechanism, handler, *properties)

    assert found.sasl == SaslConfig(
        mechanism.upper(), is_aws=True, aws_profile=profile, aws_region=region
    )
    secret = "every user of this machine can read it"
    assert [each for each in found.warnings if secret not in each] == []


@pytest.mark.parametrize("option", ["awsRoleArn", "awsRoleSessionName"])
def test_a_role_of_aws_belongs_into_a_profile(option: str) -> None:
    """What kdiag does not do is refused, lest it logs in as somebody else."""
    jaas = f'sasl.jaas.config={IAM} required {option}="arn:aws:iam::123456789012:role/reader";'
    with pytest.raises(ConfigError, match=f"{option} is not supported; name the role in a profile"):
        sasl("AWS_MSK_IAM", jaas)


def test_a_token_that_is_given_is_used_before_credentials_of_aws() -> None:
    """The handler is that of a file that serves Java clients too."""
    handler = f"sasl.login.callback.handler.class={IAM_LOGIN}"

    assert sasl("OAUTHBEARER", handler, "sasl.oauthbearer.token.file=/t").is_aws is False
