import subprocess
import sys

import pytest

from kdiag.clock import ManualClock
from kdiag.errors import ConfigError, install_command
from kdiag.net.sasl.settings import SaslSettings, make_mechanism, mechanism_maker
from tiers.cases import for_each

PLAIN = SaslSettings("PLAIN", "alice", "s3cret")


@for_each(
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


@pytest.mark.parametrize(
    ("settings", "made"),
    [
        (SaslSettings("AWS_MSK_IAM", is_aws=True), "<AwsMskIam of {}>"),
        (SaslSettings("OAUTHBEARER", is_aws=True), "<OauthBearer with <AwsToken of {}>>"),
    ],
)
def test_credentials_of_aws_are_used_for_each_broker(settings: SaslSettings, made: str) -> None:
    """Their name is signed; those who sign are found once."""
    mechanism_for = mechanism_maker(settings._replace(aws_profile="dev"), ManualClock())
    first, second = mechanism_for("b-1"), mechanism_for("b-2")

    signer = "<AwsSigner with profile 'dev', not looked for yet>"
    assert repr(first) == repr(second) == made.format(signer)
    assert first is not second


def test_other_mechanisms_are_the_same_for_all_brokers() -> None:
    """A token is asked for once."""
    mechanism_for = mechanism_maker(PLAIN, ManualClock())

    assert mechanism_for("b-1") is mechanism_for("b-2")


def test_an_extra_that_is_missing_is_named_with_the_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And with the setting that needs it."""
    monkeypatch.setitem(sys.modules, "botocore.session", None)
    origins = {"sasl.mechanism": "client.properties:3"}
    with pytest.raises(ConfigError) as error:
        mechanism_maker(SaslSettings("AWS_MSK_IAM", is_aws=True, origins=origins), ManualClock())

    assert (error.value.key, error.value.origin) == ("sasl.mechanism", "client.properties:3")
    assert "credentials of AWS need botocore: " in error.value.why
    assert error.value.why.endswith(install_command("aws"))


@pytest.mark.thorough
def test_botocore_is_not_imported_for_other_mechanisms() -> None:
    """It takes as long as all the rest."""
    program = "import sys, kdiag.net.sasl.settings; print('botocore' in sys.modules)"
    command = [sys.executable, "-c", program]

    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"
