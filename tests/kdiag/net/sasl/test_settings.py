import pytest

from kdiag.clock import ManualClock
from kdiag.errors import ConfigError
from kdiag.net.sasl.settings import SaslSettings, make_mechanism

PLAIN = SaslSettings("PLAIN", "alice", "s3cret")


@pytest.mark.parametrize(
    ("settings", "made"),
    [
        (PLAIN, "<Plain as 'alice'>"),
        (PLAIN._replace(mechanism="SCRAM-SHA-256"), "<Scram SCRAM-SHA-256 as 'alice'>"),
        (PLAIN._replace(mechanism="SCRAM-SHA-512"), "<Scram SCRAM-SHA-512 as 'alice'>"),
        (SaslSettings("OAUTHBEARER", token="abc"), "<OauthBearer with <LiteralToken>>"),
    ],
)
def test_settings_name_a_mechanism(settings: SaslSettings, made: str) -> None:
    """It has their credentials, and shows no secret."""
    mechanism = make_mechanism(settings, ManualClock())

    assert mechanism.name == settings.mechanism
    assert repr(mechanism) == made


def test_the_first_source_of_a_token_counts() -> None:
    """Token, file, command, identity provider, unsecured token."""
    unsecured = SaslSettings("OAUTHBEARER", unsecured={"unsecuredLoginStringClaim_sub": "bob"})
    endpoint = unsecured._replace(token_endpoint="https://idp:8443/token?key=x", client_id="me")
    command = endpoint._replace(token_command="get-token")
    file = command._replace(token_file="/run/token")
    token = file._replace(token="abc")

    sources = (token, file, command, endpoint, unsecured)
    assert [repr(make_mechanism(each, ManualClock())) for each in sources] == [
        "<OauthBearer with <LiteralToken>>",
        "<OauthBearer with <FileToken /run/token>>",
        "<OauthBearer with <CommandToken get-token>>",
        "<OauthBearer with <ProviderToken with <ClientCredentials of 'me' at https://idp:8443/token>>>",
        "<OauthBearer with <UnsecuredToken {'sub': 'bob'}>>",
    ]


def test_a_mechanism_that_kdiag_does_not_have_is_a_configuration_error() -> None:
    """The error lists those that it has, and says where the setting was given."""
    origins = {"sasl.mechanism": "client.properties:3"}
    with pytest.raises(ConfigError) as error:
        make_mechanism(SaslSettings("GSSAPI", origins=origins), ManualClock())

    assert (error.value.key, error.value.origin) == ("sasl.mechanism", "client.properties:3")
    assert error.value.why == (
        "expected one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER, found 'GSSAPI'"
    )


def test_settings_show_no_secret() -> None:
    """Neither a password nor a token."""
    assert repr(PLAIN) == "<SaslSettings: PLAIN as 'alice'>"
    assert "abc" not in repr(SaslSettings("OAUTHBEARER", token="abc"))


def test_an_endpoint_that_is_no_address_is_a_configuration_error() -> None:
    """It names the setting."""
    settings = SaslSettings("OAUTHBEARER", token_endpoint="idp/token", client_id="me")
    with pytest.raises(ConfigError) as error:
        make_mechanism(settings, ManualClock())

    assert error.value.key == "sasl.oauthbearer.token.endpoint.url"
