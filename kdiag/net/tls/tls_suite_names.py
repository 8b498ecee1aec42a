"""Names of cipher suites: Kafka's settings use Java's, which are IANA's; OpenSSL has its own.

    TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 -> ECDHE-RSA-AES128-GCM-SHA256
    TLS_RSA_WITH_AES_256_CBC_SHA -> AES256-SHA

Source: the TLS Cipher Suites registry of IANA; OpenSSL's `ciphers` manual page.
"""

import re
from typing import Final

_JAVA_PREFIXES: Final = ("TLS_", "SSL_")
_WITH: Final = "_WITH_"


def is_tls13_suite(name: str) -> bool:
    """Return whether a name is that of a suite of TLS 1.3, which names no key exchange."""
    return name.startswith("TLS_") and _WITH not in name


def is_java_name(name: str) -> bool:
    """Return whether a name is Java's rather than OpenSSL's."""
    return name.startswith(_JAVA_PREFIXES)


def openssl_name(name: str) -> str:
    """Return OpenSSL's name of a suite before TLS 1.3; a name that is not Java's stays as it is."""
    if not is_java_name(name) or _WITH not in name:
        return name
    exchange, cipher = name[len(_JAVA_PREFIXES[0]) :].split(_WITH, 1)
    cipher = re.sub(r"_CBC(?=_)|(?<=POLY1305)_SHA256$", "", cipher)
    cipher = re.sub(r"^(AES|CAMELLIA|ARIA)_(?=\d)", r"\1", cipher)
    parts = [] if exchange == "RSA" else [exchange]
    return "-".join([*parts, cipher]).replace("_", "-")
