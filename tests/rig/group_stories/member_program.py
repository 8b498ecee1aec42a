"""A member of a group, in a process of its own so that it can be killed.

    python member_program.py confluent localhost:9092 orders app-a clicks,ads

polls until stdin ends, then leaves; librdkafka's prints partition and offset of each record. A line
of stdin is the list of topics to subscribe to from then on. Further arguments are settings of the
client, `key=value`.
"""

import sys
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final

import confluent_kafka
import kafka

_POLL_S: Final = 0.05
_SESSION_MS: Final = 4000
_BEAT_MS: Final = 300
_METADATA_MS: Final = 700


def _confluent(bootstrap: str, group: str, client_id: str, settings: dict[str, str]) -> Any:
    classic: dict[str, Any] = {
        "session.timeout.ms": _SESSION_MS,
        "heartbeat.interval.ms": _BEAT_MS,
    }
    own = {} if settings.get("group.protocol") == "consumer" else classic
    return confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": client_id,
            "topic.metadata.refresh.interval.ms": _METADATA_MS,
            **own,
            **settings,
        }
    )


def _kafka_python(bootstrap: str, group: str, client_id: str, settings: dict[str, str]) -> Any:
    return kafka.KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=group,
        client_id=client_id,
        session_timeout_ms=_SESSION_MS,
        heartbeat_interval_ms=_BEAT_MS,
        metadata_max_age_ms=_METADATA_MS,
        **settings,
    )


_MAKERS: Final[dict[str, Callable[..., Any]]] = {
    "confluent": _confluent,
    "kafka-python": _kafka_python,
}


def main() -> None:
    """Be a member until stdin ends."""
    library, bootstrap, group, client_id, topics, *settings = sys.argv[1:]
    pairs = dict(each.split("=", 1) for each in settings)
    consumer = _MAKERS[library](bootstrap, group, client_id, pairs)
    consumer.subscribe(topics.split(","))
    said: SimpleQueue[str] = SimpleQueue()
    Thread(target=_listen, args=(said,), daemon=True).start()
    while True:
        if library == "confluent":
            _print(consumer.poll(_POLL_S))
        else:
            consumer.poll(_POLL_S * 1000)
        try:
            line = said.get_nowait()
        except Empty:
            continue
        if not line:
            break
        consumer.subscribe(line.strip().split(","))
    consumer.close()


def _print(message: Any) -> None:
    """Print where a record was, at once."""
    if message is not None and message.error() is None:
        sys.stdout.write(f"{message.partition()} {message.offset()}\n")
        sys.stdout.flush()


def _listen(said: "SimpleQueue[str]") -> None:
    """Hand on the lines of stdin, and an empty one at its end."""
    for line in sys.stdin:
        said.put(line)
    said.put("")


if __name__ == "__main__":
    main()
