"""Where the topics speak of a word: `kdiag help kerberos`, `kdiag help ssl`.

    find_sections("ssl")     # [Section("connecting", "Two faults that hide", 12), ...]

A synonym is searched for as the word that the topics use, and its own topic comes first.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from kdiag.findings.finding import RULES
from kdiag_cli.commands.help.topics import topic_files

_MOST: Final = 8
_MOST_RULES: Final = 5
_IN_HEADING: Final = 5
"""How many times in the text a word in a heading counts."""

_SYNONYMS: Final = {
    "acls": ("ACL", "symptoms"),
    "benchmark": ("performance", "performance"),
    "benchmarks": ("performance", "performance"),
    "broker": ("broker", "lab"),
    "certificate": ("certificate", "connecting"),
    "consumer": ("member", "groups"),
    "consumer-groups": ("group", "groups"),
    "docker": ("Docker", "symptoms"),
    "firewall": ("TCP", "connecting"),
    "gssapi": ("Kerberos", "settings"),
    "handshake": ("TLS", "connecting"),
    "jks": ("JKS", "settings"),
    "k8s": ("Kubernetes", "symptoms"),
    "kerberos": ("Kerberos", "settings"),
    "lag": ("lag", "groups"),
    "mtls": ("certificate", "connecting"),
    "oauth": ("OAUTHBEARER", "settings"),
    "oauthbearer": ("OAUTHBEARER", "settings"),
    "offset": ("offset", "tail"),
    "offsets": ("offset", "tail"),
    "parquet": ("Parquet", "tables"),
    "pcap": ("capture", "decode"),
    "pcapng": ("pcapng", "decode"),
    "profile": ("profile", "settings"),
    "profiles": ("profile", "settings"),
    "proxy": ("proxy", "lab"),
    "sasl": ("SASL", "settings"),
    "scram": ("SCRAM", "settings"),
    "speed": ("performance", "performance"),
    "sql": ("SQL", "tables"),
    "ssl": ("TLS", "connecting"),
    "tcpdump": ("tcpdump", "symptoms"),
    "throughput": ("MB/s", "buffers"),
    "tls": ("TLS", "connecting"),
    "transaction": ("transaction", "groups"),
    "transactions": ("transaction", "groups"),
    "trouble": ("symptom", "symptoms"),
    "wireshark": ("tshark", "decode"),
}
"""Words that users type: the word that the topics use, and the topic that comes first."""


class Section(NamedTuple):
    """A part of a topic that has a word.

    Attributes:
        topic: its name.
        heading: of the part; the topic's title for its beginning.
        weight: how often the word is in it, more for one in the heading.
    """

    topic: str
    heading: str
    weight: int


def find_sections(word: str) -> list[Section]:
    """Return the parts of topics that have a word, the best of each topic, the best topic first."""
    searched, first = _SYNONYMS.get(word.lower(), (word, ""))
    if not searched.strip():
        return []
    pattern = _beginning(searched)
    best: dict[str, Section] = {}
    for name, path in topic_files().items():
        for section in _sections(name, path.read_text(encoding="utf-8"), pattern):
            if section.weight > best.get(name, Section(name, "", 0)).weight:
                best[name] = section
    ranked = sorted(best.values(), key=lambda each: (each.topic != first, -each.weight))
    return ranked[:_MOST]


def find_rules(word: str) -> list[str]:
    """Return the ids of findings whose title has a word."""
    searched, _ = _SYNONYMS.get(word.lower(), (word, ""))
    if not searched.strip():
        return []
    pattern = _beginning(searched)
    return [key for key, rule in RULES.items() if pattern.search(rule.title)][:_MOST_RULES]


def _sections(topic: str, text: str, pattern: re.Pattern[str]) -> Iterator[Section]:
    for part in re.split(r"^(?=#+ )", text, flags=re.MULTILINE):
        heading, _, rest = part.partition("\n")
        count = len(pattern.findall(rest)) + _IN_HEADING * len(pattern.findall(heading))
        if count:
            yield Section(topic, heading.lstrip("# "), count)


def _beginning(word: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w){re.escape(word)}", re.IGNORECASE)
