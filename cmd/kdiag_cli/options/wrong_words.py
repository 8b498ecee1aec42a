"""What was meant by a word that is no command, or by an argument in the wrong place.

    kdiag traffic.pcap         traffic.pcap is a file: kdiag decode traffic.pcap
    kdiag lag                  kdiag groups -b HOST:PORT
    kdiag check kafka1:9092    kafka1:9092 is an address: kdiag check -b kafka1:9092
    kdiag report compat traffic.pcap target=4.1        -p target=4.1

Imported only where something is wrong. Each answer is a command that can be pasted.
"""

import re
import shlex
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Final

_ADDRESS: Final = re.compile(r"(?:\[[\da-fA-F:.]+\]|[\w.-]+):\d{1,5}")
_SURE_ADDRESS: Final = re.compile(r"(?:\[[\da-fA-F:.]+\]|localhost|[\w-]+(?:\.[\w-]+)+):\d{4,5}")
"""An address that is neither topic:partition nor the name of a group."""

_PARAMETER: Final = re.compile(r"\w+=.*")
_CAPTURE: Final = re.compile(r"\.(pcap|pcapng|cap)(\.\w+)?$", re.IGNORECASE)
_BROKERS: Final = ("-b", "--bootstrap-server", "--bootstrap-servers")
_NEAR: Final = 0.7
"""How alike letters must be: `lag` is not `lab`, nor `version` `api-versions`."""

_RECORDS: Final = (
    "kdiag writes no records of yours: use kcat -P or kafka-console-producer; "
    "kdiag request Produce sends one raw request"
)
_ADMIN: Final = "kdiag does not administer clusters: use kafka-topics.sh, kcl or kafkactl"
_ACLS: Final = (
    "kdiag check -b HOST:PORT -t TOPIC shows what you may do, and kafka-acls.sh --list all ACLs"
)
_CONFIGS: Final = (
    """kdiag request DescribeConfigs -b HOST:PORT """
    """'{"resources": [{"resourceType": 2, "resourceName": "TOPIC"}]}'"""
)
_WORDS: Final = {
    "kdiag tail TOPIC -b HOST:PORT": "consume consumer cat read records messages",
    "kdiag groups -b HOST:PORT": "lag consumer-groups consumer-group group members",
    "kdiag groups -b HOST:PORT GROUP": "offsets offset committed",
    "kdiag request Metadata -b HOST:PORT": "metadata brokers broker nodes",
    """kdiag request Metadata '{"topics": null}' -b HOST:PORT""": "topics topic",
    "kdiag check -b HOST:PORT": "cluster connect ping health doctor status tls ssl sasl probe",
    "kdiag --version": "version",
    "kdiag decode FILE.pcap": "dump pcap capture sniffer tshark summary",
    "kdiag decode --live IFACE": "sniff live tcpdump listen",
    "kdiag lab proxy -b HOST:PORT": "proxy chaos",
    "kdiag lab": "fake mock embedded server start",
    "kdiag txn -b HOST:PORT": "transactions transaction txns",
    "kdiag rebalance explain FILE.pcap": "rebalances explain",
    "kdiag find-coordinator GROUP -b HOST:PORT": "coordinator coordinators",
    "kdiag latency -b HOST:PORT": "bench benchmark perf perf-test performance",
    "kdiag query FILE.pcap 'SELECT ...'": "sql select duckdb",
    "kdiag report compat FILE.pcap": "compat compatibility upgrade",
    "kdiag errcode NAME": "error errors code codes",
    "kdiag config show": "settings properties",
    "kdiag config import FILE --write": "profile profiles context import",
    "kdiag completion man DIR": "man manpage",
    _ACLS: "acls acl",
    _CONFIGS: "configs",
    "kdiag help symptoms": "symptoms trouble",
    _RECORDS: "produce producer publish write send",
    _ADMIN: "create delete alter reassign admin quotas",
}
_COMMAND_OF: Final = {word: command for command, words in _WORDS.items() for word in words.split()}


def command_meant(words: Sequence[str], commands: Iterable[str]) -> str:
    """Return what to type instead of a word that is no command.

    Args:
        words: of the command line, the first of which is no command.
        commands: the names that there are.
    """
    word = words[0]
    if Path(word).exists() or _CAPTURE.search(word):
        return f"{word} is a file: kdiag decode {shlex.join(words)}"
    if _ADDRESS.fullmatch(word):
        return f"{word} is an address: kdiag check -b {word}"
    known = _COMMAND_OF.get(word.lower())
    if known is not None:
        return f"{word!r} is not a command: {known}"
    near = get_close_matches(word.lower(), [*commands, *_COMMAND_OF], 3, _NEAR)
    meant = dict.fromkeys(f"kdiag {each}" for each in near if each in set(commands))
    if meant:
        return f"no command {word!r}; did you mean {' or '.join(meant)}?"
    if near:
        return f"no command {word!r}; did you mean {near[0]}: {_COMMAND_OF[near[0]]}?"
    return f"no command {word!r}; kdiag --help lists them, kdiag help {shlex.quote(word)} searches"


def address_meant(path: str, words: Sequence[str], extra: Sequence[str]) -> str | None:
    """Return what to type if an argument is an address that should stand behind `-b`.

    Args:
        path: of the command, such as `kdiag check`.
        words: of the command line behind it.
        extra: the arguments that the command did not expect; empty where it takes any.
    """
    if any(each.partition("=")[0] in _BROKERS for each in words):
        return None
    pattern = _ADDRESS if extra else _SURE_ADDRESS
    address = next((each for each in extra or words if pattern.fullmatch(each)), None)
    if address is None:
        return None
    rest = [each for each in words if each != address]
    return f"{address} is an address: {shlex.join([*path.split(), '-b', address, *rest])}"


def report_meant(name: str | None, files: Sequence[str], names: Sequence[str]) -> str | None:
    """Return what to type if a capture stands where a report should, or a parameter as a capture.

    Args:
        name: the first argument of `kdiag report`.
        files: the others.
        names: of the reports.
    """
    if name is not None and name not in names:
        if Path(name).exists() or _CAPTURE.search(name):
            chosen = next((each for each in files if each in names), None)
            rest = [each for each in files if each != chosen]
            command = shlex.join(["kdiag", "report", chosen or "REPORT", name, *rest])
            page = shlex.join(["kdiag", "report", "--html", "page.html", name, *rest])
            every = "" if chosen else f", or {page} for all; there are {', '.join(names)}"
            return f"{name} is a capture: {command}{every}"
        near = get_close_matches(name, names, 1, _NEAR)
        if near:
            return f"no report {name!r}; did you mean {near[0]}?"
    wrong = [each for each in files if _PARAMETER.fullmatch(each) and not Path(each).exists()]
    if not wrong or name is None:
        return None
    rest = [each for each in files if each not in wrong]
    parameters = [part for each in wrong for part in ("-p", each)]
    return f"{wrong[0]} is a parameter: {shlex.join(['kdiag', 'report', name, *rest, *parameters])}"
