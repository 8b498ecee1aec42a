"""AWS MSK IAM: a client shows who it is in AWS by a signed request that it never makes.

    GET https://HOST/?Action=kafka-cluster:Connect
        &X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=KEY/DAY/REGION/kafka-cluster/aws4_request
        &X-Amz-Date=20260102T030405Z&X-Amz-Expires=900&X-Amz-SignedHeaders=host
        &X-Amz-Security-Token=...&X-Amz-Signature=...

| mechanism | HOST | what the broker is sent |
|---|---|---|
| AWS_MSK_IAM | the broker's | JSON: the parameters, version, host and user-agent |
| OAUTHBEARER | `kafka.REGION.amazonaws.com` | a token: the address and a User-Agent in base64url |

Every authentication signs anew, so that none is older than its connection; temporary credentials
are renewed by botocore before they expire. The region is the one that is given, else that of the
broker's name, such as `b-1.x.kafka.eu-west-1.amazonaws.com`, else AWS's usual one: `AWS_REGION`,
`AWS_DEFAULT_REGION` or that of the profile.

Source: aws-msk-iam-auth (Java) and aws-msk-iam-sasl-signer-python of AWS; AWS's Signature Version 4
with query parameters.
"""

import os
import re
from base64 import urlsafe_b64encode
from collections.abc import Generator
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlsplit

import msgspec

import kdiag
from kdiag.net.sasl.mechanism import Refusal, SaslError, shortened

AWS_MSK_IAM: Final = "AWS_MSK_IAM"

REFUSED_FIX: Final = (
    "Allow kafka-cluster:Connect to these credentials in IAM, and compare region and clock with AWS"
)

_ACTION: Final = "kafka-cluster:Connect"
_EXPIRES_S: Final = 900
_HOST: Final = re.compile(
    r"\.kafka(?:-serverless)?\.([a-z]{2}(?:-[a-z]+)+-[0-9]+)\.amazonaws\.com(?:\.cn)?"
)
_SERVICE: Final = "kafka-cluster"
_USER_AGENT: Final = f"kdiag/{kdiag.__version__}"
_VERSION: Final = "2020_10_22"

_CREDENTIALS_FIX: Final = (
    "Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a profile of ~/.aws in"
    " sasl.aws.profile, AWS_PROFILE or awsProfileName"
)
_REGION_FIX: Final = "Set sasl.aws.region or AWS_REGION to the region of the cluster"


def region_of_host(host: str) -> str | None:
    """Return the region in the name of a broker of MSK; None if it is not such a name."""
    found = _HOST.search(host.lower().rstrip("."))
    return found[1] if found and found.end() == len(host.rstrip(".")) else None


class AwsSigner:
    """Signs with the credentials that botocore finds, for any number of connections."""

    def __init__(self, profile: str = "", region: str = "") -> None:
        """Prepare the search for credentials.

        Args:
            profile: the name of a profile in `~/.aws`; empty for the usual chain.
            region: of the cluster; empty to look for it.

        Raises:
            ImportError: if botocore is not installed.
        """
        from botocore.session import Session  # noqa: PLC0415 - 100 ms, an extra

        self._session = Session(profile=profile or None)
        self._profile = profile
        self._region = region
        self._credentials: Any = None

    def __repr__(self) -> str:
        return f"<AwsSigner with {self.who}>"

    @property
    def who(self) -> str:
        """Return where the credentials come from, and nothing of them."""
        method = getattr(self._credentials, "method", "") or "not looked for yet"
        return f"profile {self._profile!r}, {method}" if self._profile else method

    def region(self, host: str) -> str:
        """Return the region of a broker.

        Raises:
            SaslError: if nothing says it.
        """
        found = self._region or region_of_host(host) or os.environ.get("AWS_REGION")
        if not found:
            found = self._asked(lambda: self._session.get_config_variable("region"))
        if not found:
            raise SaslError(f"the AWS region of {host or 'the cluster'} is not known", _REGION_FIX)
        return str(found)

    def presigned(self, host: str, region: str) -> str:
        """Return the address of a request to a host, signed now.

        Raises:
            SaslError: if there are no credentials.
        """
        from botocore.auth import SigV4QueryAuth  # noqa: PLC0415 - as above
        from botocore.awsrequest import AWSRequest  # noqa: PLC0415 - as above

        credentials = self._asked(self._frozen_credentials)
        if credentials is None:
            raise SaslError("no AWS credentials were found", _CREDENTIALS_FIX)
        request = AWSRequest("GET", f"https://{host}/", params={"Action": _ACTION})
        SigV4QueryAuth(credentials, _SERVICE, region, _EXPIRES_S).add_auth(request)
        return str(request.url)

    def _frozen_credentials(self) -> Any:
        """Return the credentials of now; None if there are none."""
        if self._credentials is None:
            self._credentials = self._session.get_credentials()
        return self._credentials and self._credentials.get_frozen_credentials()

    def _asked(self, ask: Any) -> Any:
        """Return what botocore answers.

        Raises:
            SaslError: if it fails.
        """
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - as above

        try:
            return ask()
        except (BotoCoreError, ClientError, OSError, RuntimeError) as error:
            why = shortened(" ".join(str(error).split()))
            raise SaslError(f"the AWS credentials cannot be had: {why}", _CREDENTIALS_FIX) from None


class AwsToken:
    """The tokens of OAUTHBEARER for one broker."""

    def __init__(self, signer: AwsSigner, host: str) -> None:
        self._signer = signer
        self._host = host

    def __repr__(self) -> str:
        return f"<AwsToken of {self._signer!r}>"

    def token(self) -> str:
        """Return a new token."""
        region = self._signer.region(self._host)
        url = self._signer.presigned(f"kafka.{region}.amazonaws.com", region)
        named = f"{url}&User-Agent={quote(_USER_AGENT, safe='')}"
        return urlsafe_b64encode(named.encode()).decode().rstrip("=")


class AwsMskIam:
    """AWS_MSK_IAM, the mechanism of AWS's Java library, with one broker."""

    name = AWS_MSK_IAM

    def __init__(self, signer: AwsSigner, host: str) -> None:
        self._signer = signer
        self._host = host

    def __repr__(self) -> str:
        return f"<AwsMskIam of {self._signer!r}>"

    def tokens(self) -> Generator[bytes, bytes, None]:
        """Return a conversation of one token; the broker's answer only repeats its request id."""
        url = self._signer.presigned(self._host, self._signer.region(self._host))
        signed = {name.lower(): value for name, value in parse_qsl(urlsplit(url).query)}
        facts = {"version": _VERSION, "host": self._host, "user-agent": _USER_AGENT}
        yield msgspec.json.encode({**facts, **signed})

    def explain(self, message: str) -> Refusal:
        """Return whose credentials were refused."""
        who = self._signer.who
        return Refusal(
            f"the broker refused the AWS credentials ({who}; {self.name}): {shortened(message)}",
            REFUSED_FIX,
        )
