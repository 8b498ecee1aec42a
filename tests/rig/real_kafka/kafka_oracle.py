"""Kafka's own code as the judge of our bytes: it reads them and says what it sees.

Each call starts one JVM, which takes about two seconds and then reads some 5,000 lines a second:
give it many lines at once.
"""

import json
import subprocess
from collections.abc import Iterable, Mapping
from typing import Any, Final

from folders import ORACLE
from real_kafka import kafka_jars

_ORACLE: Final = ORACLE / "Oracle.java"


def tell(version: str, command: str) -> str:
    """Return the lines that the oracle prints of a release, such as its `table` or its `names`.

    Raises:
        UnavailableError: if Kafka's jars cannot be had.
    """
    run = kafka_jars.java_command(kafka_jars.jars(version), str(_ORACLE), command)
    return subprocess.run(run, capture_output=True, text=True, check=True).stdout


def decode(version: str, lines: Iterable[Mapping[str, object]]) -> list[dict[str, Any]]:
    """Return what Kafka reads in each line, in order.

    Args:
        version: the Kafka version that reads.
        lines: `api_key`, `kind` (`request`, `response`, `request_header`, `response_header`),
            `version`, `hex`; or `schema`, `version`, `hex`; or `kind` `records` and `hex`. `hex`
            is the body alone. Other keys are ignored.

    Returns:
        A mapping for each line: `json`, `unknown_tags` (if some), `remaining_bytes`, `canonical`
        (whether Kafka would write the same bytes; else `canonical_hex` is what it would write),
        or `error`.

    Raises:
        UnavailableError: if Kafka's jars cannot be had.
    """
    done = subprocess.run(
        kafka_jars.java_command(kafka_jars.jars(version), str(_ORACLE), "decode"),
        input="".join(json.dumps(line) + "\n" for line in lines),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]
