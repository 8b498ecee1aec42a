"""How fast foreign clients go with their defaults: a program, to run at the far end of a path.

    python client_rate.py kafka-python BOOTSTRAP TOPIC RECORDS
    python client_rate.py librdkafka BOOTSTRAP TOPIC RECORDS

kafka-python writes so many records of 1000 bytes; librdkafka reads so many from the beginning. Each
prints 10**6 bytes per second, the first quarter left out.
"""

import sys
import time
from pathlib import Path
from typing import Final

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

PROGRAM: Final = Path(__file__)

_RECORD_BYTES: Final = 1_000
_WARM_UP: Final = 4
_TIMEOUT_S: Final = 30
_BYTES_PER_MB: Final = 1_000_000


def produce(bootstrap: str, topic: str, records: int) -> float:
    """Return how fast kafka-python writes."""
    from kafka import KafkaProducer  # noqa: PLC0415 - it warns, which ends whoever imports this

    producer = KafkaProducer(bootstrap_servers=bootstrap)
    value = bytes(_RECORD_BYTES)
    warm_up = records // _WARM_UP
    for _ in range(warm_up):
        producer.send(topic, value)
    producer.flush(_TIMEOUT_S)
    start_s = time.monotonic()
    for _ in range(records - warm_up):
        producer.send(topic, value)
    producer.flush(_TIMEOUT_S)
    return _mb_per_s((records - warm_up) * _RECORD_BYTES, start_s)


def consume(bootstrap: str, topic: str, records: int) -> float:
    """Return how fast librdkafka reads."""
    group = {"group.id": "rate", "enable.auto.commit": False}
    consumer = Consumer({"bootstrap.servers": bootstrap, **group})
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    _read(consumer, records // _WARM_UP)
    start_s = time.monotonic()
    size = _read(consumer, records - records // _WARM_UP)
    rate = _mb_per_s(size, start_s)
    consumer.close()
    return rate


def _read(consumer: Consumer, records: int) -> int:
    """Read so many records, and return the bytes of their values."""
    size = 0
    while records > 0:
        for message in consumer.consume(min(records, 1000), _TIMEOUT_S):
            size += len(message.value() or b"")
            records -= 1
    return size


def _mb_per_s(size: int, start_s: float) -> float:
    return size / (time.monotonic() - start_s) / _BYTES_PER_MB


def main() -> None:
    """Do what the arguments say."""
    client, bootstrap, topic, records = sys.argv[1:]
    do = produce if client == "kafka-python" else consume
    sys.stdout.write(f"{do(bootstrap, topic, int(records))}\n")


if __name__ == "__main__":
    main()
