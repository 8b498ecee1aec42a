"""AWS's end of MSK IAM: checks signatures by itself, as its documents say, without botocore.

AwsVerifier({"AKID": "secret"}, clock).judge_mechanism(token)    # None, or why it is refused
"""

import datetime as dt
import hashlib
import hmac
from base64 import urlsafe_b64decode
from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qsl, quote, urlsplit

import msgspec

from kdiag.clock import NS_PER_S, Clock

ALGORITHM: Final = "AWS4-HMAC-SHA256"
NO_BODY: Final = hashlib.sha256(b"").hexdigest()
SIGNATURE: Final = "x-amz-signature"
NAMES: Final = {
    each.lower(): each
    for each in (
        "Action",
        "X-Amz-Algorithm",
        "X-Amz-Credential",
        "X-Amz-Date",
        "X-Amz-Expires",
        "X-Amz-Security-Token",
        "X-Amz-SignedHeaders",
        "X-Amz-Signature",
    )
}


class AwsVerifier:
    """Knows secret keys by their ids, and one region."""

    def __init__(self, secrets: Mapping[str, str], clock: Clock, region: str = "eu-west-1") -> None:
        self._secrets = secrets
        self._clock = clock
        self._region = region

    def judge_mechanism(self, token: bytes, host: str) -> str | None:
        """Return why the token of AWS_MSK_IAM is refused by a broker; None if it is not."""
        fields = msgspec.json.decode(token, type=dict[str, str])
        if fields.pop("version") != "2020_10_22" or not fields.pop("user-agent"):
            return "version or user agent"
        if fields.pop("host") != host:
            return "host"
        return self._judge(fields, host)

    def judge_bearer(self, token: bytes) -> str | None:
        """Return why the token of OAUTHBEARER is refused; None if it is not."""
        start, _, rest = token.partition(b"auth=Bearer ")
        assert start == b"n,,\x01"
        assert rest.endswith(b"\x01\x01")
        url = urlsplit(urlsafe_b64decode(rest.rstrip(b"\x01") + b"==").decode())
        fields = dict(parse_qsl(url.query, strict_parsing=True))
        if (url.scheme, url.path) != ("https", "/") or not fields.pop("User-Agent"):
            return "address"
        if url.netloc != f"kafka.{self._region}.amazonaws.com":
            return "host"
        return self._judge({name.lower(): value for name, value in fields.items()}, url.netloc)

    def _judge(self, fields: dict[str, str], host: str) -> str | None:
        """Return the first check that signed parameters fail."""
        key_id, _, scope = fields["x-amz-credential"].partition("/")
        day = fields["x-amz-date"][:8]
        signed = dt.datetime.strptime(fields["x-amz-date"], "%Y%m%dT%H%M%S%z").timestamp()
        age_s = self._clock.epoch_ns() / NS_PER_S - signed
        checks = {
            "parameters": fields.keys() <= NAMES.keys(),
            "action": fields["action"] == "kafka-cluster:Connect",
            "expiry": fields["x-amz-expires"] == "900",
            "algorithm": fields["x-amz-algorithm"] == ALGORITHM,
            "headers": fields["x-amz-signedheaders"] == "host",
            f"scope {scope}": scope == f"{day}/{self._region}/kafka-cluster/aws4_request",
            "unknown key": key_id in self._secrets,
            "expired": 0 <= age_s <= 900,
            "signature": fields[SIGNATURE]
            == self._signature(fields, host, self._secrets.get(key_id, "")),
        }
        return next((name for name, is_right in checks.items() if not is_right), None)

    def _signature(self, fields: dict[str, str], host: str, secret: str) -> str:
        query = "&".join(
            f"{quote(name, safe='-_.~')}={quote(value, safe='-_.~')}"
            for name, value in sorted((NAMES[each], fields[each]) for each in fields)
            if name != NAMES[SIGNATURE]
        )
        request = f"GET\n/\n{query}\nhost:{host}\n\nhost\n{NO_BODY}"
        scope = fields["x-amz-credential"].partition("/")[2]
        hashed = hashlib.sha256(request.encode()).hexdigest()
        text = f"{ALGORITHM}\n{fields['x-amz-date']}\n{scope}\n{hashed}"
        key = f"AWS4{secret}".encode()
        for part in (*scope.split("/"), text):
            key = hmac.digest(key, part.encode(), "sha256")
        return key.hex()
