import datetime as dt
import sys
from collections.abc import Iterator
from pathlib import Path

import botocore.auth
import msgspec
import pytest

from kdiag.clock import NS_PER_S, ManualClock
from kdiag.errors import AuthenticationError
from kdiag.net.sasl.authenticator import SaslAuthenticator
from kdiag.net.sasl.aws_iam import AwsMskIam, AwsSigner, AwsToken, region_of_host
from kdiag.net.sasl.mechanism import SaslError, SaslMechanism
from kdiag.net.sasl.oauthbearer import OauthBearer
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kdiag.wire.api.sasl_handshake import SaslHandshakeResponse
from kdiag.wire.codec.messages import decode
from kdiag.wire.header import read_request_header
from secure_ends.aws_verifier import AwsVerifier
from secure_ends.sasl_peer import SaslPeer, offer
from tiers.cases import for_each

NOW_NS = 1_700_000_000 * NS_PER_S
HOST = "b-1.demo.abc123.c2.kafka.eu-west-1.amazonaws.com"
KEY_ID, SECRET = "AKIDEXAMPLE", "wJalr/XUtnFEMI+bPxRfiCY"
REFUSED = 58


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    """Return the clock of kdiag, of botocore and of the broker."""
    clock = ManualClock(NOW_NS)

    def now() -> dt.datetime:
        return dt.datetime.fromtimestamp(clock.epoch_ns() / NS_PER_S, dt.UTC).replace(tzinfo=None)

    monkeypatch.setattr(botocore.auth, "get_current_datetime", now)
    return clock


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return the folder of profiles; nothing of AWS is in the environment but a pair of keys."""
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY_ID)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    return tmp_path


@pytest.fixture
def verifier(clock: ManualClock) -> AwsVerifier:
    """Return AWS."""
    return AwsVerifier({KEY_ID: SECRET}, clock)


@pytest.fixture
def peer() -> Iterator[SaslPeer]:
    """Yield a connection with a broker."""
    with SaslPeer() as both:
        yield both


def token_of(mechanism: SaslMechanism) -> bytes:
    """Return the first token of a conversation."""
    return next(mechanism.tokens())


def bearer(clock: ManualClock, host: str = HOST) -> OauthBearer:
    """Return the mechanism OAUTHBEARER with AWS's tokens."""
    return OauthBearer(AwsToken(AwsSigner(), host), clock)


@pytest.mark.parametrize("session_token", ["", "FwoGZXIvYXdz/+=="])
def test_a_broker_accepts_what_is_signed(
    monkeypatch: pytest.MonkeyPatch, clock: ManualClock, verifier: AwsVerifier, session_token: str
) -> None:
    """By both mechanisms, with lasting and with temporary credentials."""
    if session_token:
        monkeypatch.setenv("AWS_SESSION_TOKEN", session_token)
    token = token_of(AwsMskIam(AwsSigner(), HOST))

    assert verifier.judge_mechanism(token, HOST) is None
    assert msgspec.json.decode(token).get("x-amz-security-token", "") == session_token
    assert verifier.judge_bearer(token_of(bearer(clock))) is None


def test_the_verifier_refuses_what_was_signed_otherwise(
    clock: ManualClock, verifier: AwsVerifier
) -> None:
    """With another secret, for another host or region, or too long ago."""
    token = token_of(AwsMskIam(AwsSigner(), HOST))
    others = AwsVerifier({KEY_ID: "other"}, clock)
    elsewhere = token_of(AwsMskIam(AwsSigner(region="us-east-1"), HOST))

    assert others.judge_mechanism(token, HOST) == "signature"
    assert verifier.judge_mechanism(token, "b-2") == "host"
    assert verifier.judge_mechanism(token.replace(HOST.encode(), b"b-2"), "b-2") == "signature"
    assert "us-east-1" in str(verifier.judge_mechanism(elsewhere, HOST))
    clock.advance(901 * NS_PER_S)
    assert verifier.judge_mechanism(token, HOST) == "expired"


@pytest.mark.parametrize("name", ["AWS_MSK_IAM", "OAUTHBEARER"])
def test_each_authentication_signs_anew(
    clock: ManualClock, verifier: AwsVerifier, peer: SaslPeer, name: str
) -> None:
    """A session that outlives its signature is renewed with one that the broker accepts."""
    mechanism = AwsMskIam(AwsSigner(), HOST) if name == "AWS_MSK_IAM" else bearer(clock)
    authenticator = SaslAuthenticator(mechanism, clock, "7", "kdiag-test")

    def judge(token: bytes) -> str | None:
        is_bearer = name == "OAUTHBEARER"
        return verifier.judge_bearer(token) if is_bearer else verifier.judge_mechanism(token, HOST)

    def authenticate(*, is_renewal: bool) -> bytes:
        authenticator.authenticate(peer.transport)
        peer.hear()
        if not is_renewal:
            peer.answer(offer((17, 0, 1), (18, 0, 4), (36, 0, 2)))
            authenticator.authenticate(peer.transport)
            peer.hear()
        peer.answer(SaslHandshakeResponse(mechanisms=[name]))
        authenticator.authenticate(peer.transport)
        heard = peer.hear()
        start = read_request_header(heard.data).body_offset
        token = decode(SaslAuthenticateRequest, heard.version, heard.data, start).auth_bytes
        assert judge(token) is None
        body = b"" if name == "OAUTHBEARER" else b'{"version":"2020_10_22","request-id":"1"}'
        peer.answer(SaslAuthenticateResponse(auth_bytes=body, session_lifetime_ms=3_600_000))
        authenticator.authenticate(peer.transport)
        assert authenticator.is_complete
        return token

    first = authenticate(is_renewal=False)
    clock.advance(3000 * NS_PER_S)
    assert judge(first) == "expired"
    authenticator.reauthenticate()
    assert authenticate(is_renewal=True) != first


def test_a_refusal_tells_whose_credentials_they_are_and_no_secret(
    clock: ManualClock, peer: SaslPeer
) -> None:
    """What the broker said, where botocore found them, and what to allow."""
    mechanism = AwsMskIam(AwsSigner(), HOST)
    authenticator = SaslAuthenticator(mechanism, clock, "7", "kdiag-test")
    answers = (
        offer((17, 0, 1), (18, 0, 4), (36, 0, 2)),
        SaslHandshakeResponse(mechanisms=["AWS_MSK_IAM"]),
        SaslAuthenticateResponse(error_code=REFUSED, error_message="Access denied"),
    )
    for answer in answers:
        authenticator.authenticate(peer.transport)
        peer.hear()
        peer.answer(answer)
    with pytest.raises(AuthenticationError) as error:
        authenticator.authenticate(peer.transport)

    said = "the broker refused the AWS credentials (env; AWS_MSK_IAM): Access denied"
    assert said in str(error.value)
    assert "kafka-cluster:Connect" in error.value.fix
    shown = f"{error.value} {error.value.fix} {authenticator!r} {bearer(clock)!r}"
    assert SECRET not in shown
    assert KEY_ID not in shown


@for_each(
    ("host", "region"),
    [
        (HOST, "eu-west-1"),
        (f"{HOST.upper()}.", "eu-west-1"),
        ("boot-x.c2.kafka-serverless.us-gov-west-1.amazonaws.com", "us-gov-west-1"),
        ("b-1-public.x.c2.kafka.cn-north-1.amazonaws.com.cn", "cn-north-1"),
        ("kafka.eu-west-1.amazonaws.com.example.org", None),
        ("b-1.kafka.eu-west-1.example.org", None),
        ("localhost", None),
    ],
)
def test_the_name_of_a_broker_tells_its_region(host: str, region: str | None) -> None:
    """If it is one that AWS gives."""
    assert region_of_host(host) == region


@pytest.mark.thorough
def test_the_region_is_that_of_the_settings_the_broker_the_environment_or_the_profile(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """In this order; without any, it is asked for."""
    with pytest.raises(SaslError, match="the AWS region of kafka1 is not known") as error:
        AwsSigner().region("kafka1")
    assert "AWS_REGION" in error.value.fix
    (folder / "config").write_text("[profile dev]\nregion = ap-south-1\n")
    assert AwsSigner("dev").region("kafka1") == "ap-south-1"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "sa-east-1")
    assert AwsSigner("dev").region("kafka1") == "sa-east-1"
    monkeypatch.setenv("AWS_REGION", "ca-central-1")
    assert AwsSigner().region("kafka1") == "ca-central-1"
    assert AwsSigner().region(HOST) == "eu-west-1"
    assert AwsSigner(region="us-east-1").region(HOST) == "us-east-1"


@pytest.mark.thorough
def test_a_profile_is_used_before_the_environment(clock: ManualClock, folder: Path) -> None:
    """One that is named explicitly; it is told, and its keys are not."""
    (folder / "credentials").write_text(
        "[dev]\naws_access_key_id = OTHER\naws_secret_access_key = hidden\n"
    )
    signer = AwsSigner("dev")

    token = token_of(AwsMskIam(signer, HOST))
    assert AwsVerifier({"OTHER": "hidden"}, clock).judge_mechanism(token, HOST) is None
    assert repr(signer) == "<AwsSigner with profile 'dev', shared-credentials-file>"


@pytest.mark.thorough
def test_temporary_credentials_are_renewed_while_they_are_used(
    clock: ManualClock, folder: Path
) -> None:
    """Those that expire soon are asked for again for the next authentication."""
    program = folder / "program.py"
    program.write_text(
        "import datetime as dt, json, pathlib\n"
        f"file = pathlib.Path({str(folder / 'count')!r})\n"
        "count = int(file.read_text()) + 1 if file.exists() else 1\n"
        "file.write_text(str(count))\n"
        "end = dt.datetime.now(dt.UTC) + dt.timedelta(minutes=2)\n"
        "print(json.dumps({'Version': 1, 'AccessKeyId': f'KEY{count}', 'SecretAccessKey': 's',\n"
        "    'SessionToken': 't', 'Expiration': end.isoformat()}))\n"
    )
    profile = f"[profile dev]\ncredential_process = {sys.executable} {program}\n"
    (folder / "config").write_text(profile)
    mechanism = AwsMskIam(AwsSigner("dev"), HOST)

    tokens = [msgspec.json.decode(token_of(mechanism)) for _ in range(2)]
    first, second = (each["x-amz-credential"].partition("/")[0] for each in tokens)
    assert first != second
    assert {each["x-amz-date"] for each in tokens} == {"20231114T221320Z"}
    assert clock.epoch_ns() == NOW_NS


@pytest.mark.parametrize(
    ("profile", "why"),
    [
        ("nosuch", "the AWS credentials cannot be had: The config profile (nosuch) could not be"),
        ("partial", "the AWS credentials cannot be had: Partial credentials found"),
    ],
)
def test_credentials_that_cannot_be_had_are_told(folder: Path, profile: str, why: str) -> None:
    """In one line, with what to set."""
    (folder / "credentials").write_text("[partial]\naws_access_key_id = OTHER\n")
    with pytest.raises(SaslError) as error:
        token_of(AwsMskIam(AwsSigner(profile), HOST))

    assert why in error.value.why
    assert "\n" not in error.value.why
    assert "AWS_ACCESS_KEY_ID" in error.value.fix


def test_nothing_that_is_found_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither keys in the environment, nor a profile, nor a machine's role."""
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    with pytest.raises(SaslError, match="no AWS credentials were found"):
        token_of(AwsMskIam(AwsSigner(), HOST))
