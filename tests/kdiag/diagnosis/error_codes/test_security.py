from kdiag.diagnosis.error_codes.security import SECURITY

APIS = {
    "Metadata",
    "FindCoordinator",
    "InitProducerId",
    "SaslHandshake",
    "SaslAuthenticate",
    "DescribeAcls",
    "CreateDelegationToken",
    "RenewDelegationToken",
    "DescribeDelegationToken",
    "AlterUserScramCredentials",
    "Envelope",
}


def test_every_error_of_security_is_told_by_an_api_about_them() -> None:
    """Errors of security come from logins, rights, tokens and credentials."""
    strangers = {name for name, advice in SECURITY.items() if APIS.isdisjoint(advice.apis)}

    assert strangers == set()
