"""Errors of authentication, authorization, delegation tokens and credentials."""

from typing import Final

from kdiag.diagnosis.error_codes.known_error import ErrorAdvice

SECURITY: Final = {
    "TOPIC_AUTHORIZATION_FAILED": ErrorAdvice(
        (
            "There is no ACL that lets the principal READ, WRITE, DESCRIBE or CREATE the topic.",
            "The principal is not the one expected: ANONYMOUS, or a whole certificate subject.",
        ),
        "Add the ACL for the principal as the broker's authorizer log names it "
        "(kafka-acls.sh --add). Lists of topics leave out those that may not be described.",
        ("Metadata", "Produce", "Fetch", "ListOffsets", "CreateTopics", "OffsetCommit"),
    ),
    "GROUP_AUTHORIZATION_FAILED": ErrorAdvice(
        ("There is no ACL that lets the principal READ (or DESCRIBE, DELETE) the group.",),
        "Add READ on the group for consumers; DESCRIBE is enough to look at it.",
        ("FindCoordinator", "JoinGroup", "OffsetFetch", "OffsetCommit", "DescribeGroups"),
    ),
    "CLUSTER_AUTHORIZATION_FAILED": ErrorAdvice(
        (
            "The request administers the cluster, and the principal has no such right.",
            "An idempotent producer needs IDEMPOTENT_WRITE on brokers before 2.8.",
        ),
        "Add the ACL on the cluster that the operation needs (ALTER, DESCRIBE, CREATE, "
        "CLUSTER_ACTION, IDEMPOTENT_WRITE).",
        ("InitProducerId", "CreateTopics", "CreateAcls", "AlterConfigs", "DescribeLogDirs"),
    ),
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED": ErrorAdvice(
        ("There is no ACL that lets the principal WRITE (or DESCRIBE) the transactional id.",),
        "Add WRITE on the transactional id, or on a prefix of it.",
        ("FindCoordinator", "InitProducerId", "AddPartitionsToTxn", "EndTxn", "Produce"),
    ),
    "UNSUPPORTED_SASL_MECHANISM": ErrorAdvice(
        ("sasl.mechanism is not among sasl.enabled.mechanisms of the listener.",),
        "Use one that the broker lists in its SaslHandshake response, or enable this one.",
        ("SaslHandshake",),
    ),
    "ILLEGAL_SASL_STATE": ErrorAdvice(
        (
            (
                "A request came before authentication was over, or SASL was begun on a listener "
                "without it."
            ),
            "The client speaks SASL_PLAINTEXT to a PLAINTEXT (or SSL) listener.",
        ),
        "Let security.protocol fit the listener.",
        ("SaslHandshake", "SaslAuthenticate"),
    ),
    "SASL_AUTHENTICATION_FAILED": ErrorAdvice(
        (
            "User or password is wrong, or the user does not exist for this SCRAM mechanism.",
            "The token has expired, or is from an issuer or for an audience that is not accepted.",
        ),
        "Check the credentials; for SCRAM create them with kafka-configs.sh. The broker's log "
        "says more than the client receives.",
        ("SaslAuthenticate",),
    ),
    "SECURITY_DISABLED": ErrorAdvice(
        ("authorizer.class.name is not set on the brokers.",),
        "Configure an authorizer before ACLs are listed or changed.",
        ("DescribeAcls", "CreateAcls", "DeleteAcls"),
    ),
    "DELEGATION_TOKEN_AUTH_DISABLED": ErrorAdvice(
        ("The brokers have no delegation.token.secret.key.",),
        "Set the same delegation.token.secret.key on all brokers and controllers.",
        ("CreateDelegationToken", "RenewDelegationToken", "DescribeDelegationToken"),
    ),
    "DELEGATION_TOKEN_NOT_FOUND": ErrorAdvice(
        ("The token expired and was removed, or belongs to another cluster.",),
        "Create a new token.",
        ("RenewDelegationToken", "ExpireDelegationToken"),
    ),
    "DELEGATION_TOKEN_OWNER_MISMATCH": ErrorAdvice(
        ("The principal is neither owner nor renewer of the token.",),
        "Authenticate as the owner, or name the renewer when the token is created.",
        ("RenewDelegationToken", "ExpireDelegationToken", "DescribeDelegationToken"),
    ),
    "DELEGATION_TOKEN_REQUEST_NOT_ALLOWED": ErrorAdvice(
        ("The connection is not authenticated, or was authenticated with a token itself.",),
        "Ask over a listener with SASL or mutual TLS, with credentials rather than a token.",
        ("CreateDelegationToken", "RenewDelegationToken", "ExpireDelegationToken"),
    ),
    "DELEGATION_TOKEN_AUTHORIZATION_FAILED": ErrorAdvice(
        ("There is no ACL that lets the principal DESCRIBE the token or create it for another.",),
        "Add DESCRIBE on the token, or CREATE_TOKENS on the user.",
        ("DescribeDelegationToken", "CreateDelegationToken"),
    ),
    "DELEGATION_TOKEN_EXPIRED": ErrorAdvice(
        ("It was not renewed in time, or has reached its largest lifetime.",),
        "Create a new token; renew it before delegation.token.expiry.time.ms passes.",
        ("RenewDelegationToken", "ExpireDelegationToken"),
    ),
    "INVALID_PRINCIPAL_TYPE": ErrorAdvice(
        ("A principal is not of the form User:name.",),
        "Write principals and renewers as User:name.",
        ("CreateDelegationToken",),
    ),
    "UNACCEPTABLE_CREDENTIAL": ErrorAdvice(
        (
            "The number of SCRAM iterations is below 4096 or above 16384.",
            "The user's name, salt or password is empty.",
        ),
        "Read the message beside the error and choose values within the bounds.",
        ("AlterUserScramCredentials",),
    ),
    "PRINCIPAL_DESERIALIZATION_FAILURE": ErrorAdvice(
        (
            "Broker and controller have different principal.builder.class settings.",
            "A custom principal builder cannot read what it wrote.",
        ),
        "Use the same principal builder on all brokers and controllers.",
        ("Envelope",),
    ),
    "RESOURCE_NOT_FOUND": ErrorAdvice(
        ("A user without SCRAM credentials was asked for, or the named resource is not there.",),
        "Check the name.",
        ("DescribeUserScramCredentials", "AlterUserScramCredentials"),
    ),
    "DUPLICATE_RESOURCE": ErrorAdvice(
        ("The request names the same user or resource more than once.",),
        "Name each once.",
        ("AlterUserScramCredentials", "DescribeUserScramCredentials"),
    ),
}
"""By Kafka's name of the error."""
