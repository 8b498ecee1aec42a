from typing import Any

from kdiag.exchange.secrets.redaction import (
    CONFIGS,
    REDACTED,
    SECRETS,
    has_secrets,
    is_secret_config,
    redact_body,
    redact_record,
    redact_spans,
)
from kdiag.wire.api.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from kdiag.wire.api.create_delegation_token import CreateDelegationTokenResponse
from kdiag.wire.api.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from kdiag.wire.api.describe_delegation_token import (
    DescribedDelegationToken,
    DescribeDelegationTokenResponse,
)
from kdiag.wire.api.expire_delegation_token import ExpireDelegationTokenRequest
from kdiag.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from kdiag.wire.api.renew_delegation_token import RenewDelegationTokenRequest
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.explain import explain
from kdiag.wire.codec.json_form import to_json
from kdiag.wire.codec.messages import encode
from kdiag.wire.schema import Kind, Struct, fields_of, info_of
from recordings.exchange_maker import request_bytes, response_bytes
from tiers.cases import for_each

SECRET = b"s3cr3t"
MESSAGES: list[tuple[Struct, int, bool]] = [
    (SaslAuthenticateRequest(auth_bytes=SECRET), 2, False),
    (SaslAuthenticateResponse(auth_bytes=SECRET), 2, True),
    (CreateDelegationTokenResponse(hmac=SECRET), 3, True),
    (RenewDelegationTokenRequest(hmac=SECRET), 2, False),
    (ExpireDelegationTokenRequest(hmac=SECRET), 2, False),
    (DescribeDelegationTokenResponse(tokens=[DescribedDelegationToken(hmac=SECRET)]), 3, True),
    (
        AlterUserScramCredentialsRequest(
            upsertions=[ScramCredentialUpsertion(name="u", salt=SECRET, salted_password=SECRET)]
        ),
        0,
        False,
    ),
    (
        IncrementalAlterConfigsRequest(
            resources=[
                AlterConfigsResource(
                    configs=[
                        AlterableConfig("ssl.keystore.password", value=SECRET.decode()),
                        AlterableConfig("retention.ms", value="5"),
                    ]
                )
            ]
        ),
        1,
        False,
    ),
]


@for_each(("message", "version", "is_response"), MESSAGES)
def test_secrets_leave_neither_body_nor_spans(
    message: Struct,
    version: int,
    is_response: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    """The value is replaced, its length and everything else stay."""
    api_key = info_of(type(message)).api_key
    assert api_key is not None
    assert has_secrets(api_key)
    body = to_json(message, version)
    redact_body(api_key, body, is_response=is_response)
    assert REDACTED in str(body)
    assert "s3cr3t" not in str(body)
    data = (response_bytes if is_response else request_bytes)(message, version)
    assert SECRET in data
    offset = len(data) - len(_body_bytes(message, version, data, is_response=is_response))
    spans = explain(type(message), version, data, offset).spans
    hidden = redact_spans(api_key, spans, is_response=is_response)
    assert "s3cr3t" not in str(hidden)
    assert [span.length for span in hidden] == [span.length for span in spans]


def _body_bytes(message: Struct, version: int, data: bytes, *, is_response: bool) -> bytes:
    api = API_BY_KEY[info_of(type(message)).api_key or 0]
    if is_response:
        return data[4 + api.response_header_version(version) :]
    return data[10 + len("app") + api.request_header_version(version) - 1 :]


def test_values_of_other_settings_stay() -> None:
    """Kafka knows their types."""
    body = to_json(MESSAGES[-1][0], 1)
    redact_body(44, body, is_response=False)
    values = [config["value"] for config in body["resources"][0]["configs"]]
    assert values == [REDACTED, "5"]


@for_each(
    ("name", "is_secret"),
    [
        ("ssl.key.password", True),
        ("listener.name.internal.sasl.jaas.config", True),
        ("delegation.token.secret.key", True),
        ("sasl.oauthbearer.client.credentials.client.secret", True),
        ("ssl.keystore.certificate.chain", True),
        ("delegation.token.max.lifetime.ms", False),
        ("sasl.oauthbearer.token.endpoint.url", False),
        ("password.encoder.iterations", False),
        (None, True),
    ],
)
def test_settings_are_secret_by_their_names(name: str | None, is_secret: bool) -> None:  # noqa: FBT001 - a parameter of the table
    """Those of Kafka's type PASSWORD, and those that have no name."""
    assert is_secret_config(name) is is_secret


def test_settings_that_the_broker_calls_sensitive_are_redacted_with_their_synonyms() -> None:
    """A synonym repeats the value; null needs no redaction."""
    body: dict[str, Any] = {
        "results": [
            {
                "configs": [
                    {
                        "name": "own.plugin",
                        "value": "x",
                        "isSensitive": True,
                        "synonyms": [{"name": "own.plugin", "value": "x"}],
                    },
                    {
                        "name": "a",
                        "value": None,
                        "synonyms": [{"name": "b.password", "value": "x"}],
                    },
                ]
            }
        ]
    }
    redact_body(32, body, is_response=True)
    assert "'x'" not in str(body)
    assert body["results"][0]["configs"][1]["value"] is None


def test_what_the_broker_calls_sensitive_is_hidden_in_spans_as_in_bodies() -> None:
    """The flag comes after the value, and synonyms may be secret by their own names."""

    def entry(name: str, *, is_sensitive: bool, synonym: str) -> DescribeConfigsResourceResult:
        return DescribeConfigsResourceResult(
            name=name,
            value=f"value-of-{name}",
            is_sensitive=is_sensitive,
            synonyms=[DescribeConfigsSynonym(name=synonym, value=f"synonym-of-{name}")],
        )

    entries = [
        entry("own.plugin", is_sensitive=True, synonym="own.plugin"),
        entry("retention.ms", is_sensitive=False, synonym="ssl.key.password"),
        entry("ssl.key.password", is_sensitive=False, synonym="plain"),
        entry("segment.ms", is_sensitive=False, synonym="segment.ms"),
    ]
    message = DescribeConfigsResponse(results=[DescribeConfigsResult(configs=entries)])
    body = to_json(message, 4)
    redact_body(32, body, is_response=True)
    spans = explain(DescribeConfigsResponse, 4, encode(message, 4)).spans
    hidden = redact_spans(32, spans, is_response=True)
    shown = {"value-of-retention.ms", "value-of-segment.ms", "synonym-of-segment.ms"}

    assert {text for text in _texts(body) if "-of-" in text} == shown
    assert {str(span.value) for span in hidden if "-of-" in str(span.value)} == shown


def _texts(value: Any) -> list[str]:
    """Return the strings in a JSON tree."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return [text for part in parts for text in _texts(part)]
    return [value] if isinstance(value, str) else []


def test_metadata_records_hide_credentials_and_passwords() -> None:
    """SCRAM keys always, settings by name."""
    scram = {"name": "alice", "salt": SECRET, "storedKey": SECRET, "serverKey": SECRET}
    redact_record("UserScramCredentialRecord", scram)
    assert scram == {
        "name": "alice",
        "salt": REDACTED,
        "storedKey": REDACTED,
        "serverKey": REDACTED,
    }
    for name, expected in (("ssl.key.password", REDACTED), ("retention.ms", "5")):
        config = {"name": name, "value": "5"}
        redact_record("ConfigRecord", config)
        assert config["value"] == expected


def test_a_cut_body_is_redacted_as_far_as_it_goes() -> None:
    """Missing fields and null arrays are no obstacle."""
    bodies: list[dict[str, Any]] = [{}, {"tokens": None}, {"tokens": [{}]}]
    for body in bodies:
        redact_body(41, body, is_response=True)
        assert REDACTED not in str(body)


def test_every_secret_path_leads_to_a_field() -> None:
    """A typing mistake would leave a secret in the open."""
    paths = [(kind, path) for kind, each in SECRETS.items() for path in each]
    paths += [(kind, f"{path}.value") for kind, path in CONFIGS.items()]
    for (api_key, is_response), path in paths:
        api = API_BY_KEY[api_key]
        kind: type[Struct] | Kind = api.response_class() if is_response else api.request_class()
        for step in path.split("."):
            assert not isinstance(kind, Kind)
            kind = {field.json_name: field for field in fields_of(kind)}[step].kind
        assert kind in {Kind.BYTES, Kind.STRING, Kind.RECORDS}
