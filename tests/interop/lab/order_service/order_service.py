"""Takes orders, and writes each to a topic."""

import confluent_kafka


class OrderService:
    """Writes orders; whoever places one hears of it."""

    def __init__(self, bootstrap: str, timeout_s: float = 10) -> None:
        """Connect to a cluster."""
        self._timeout_s = timeout_s
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": "order-service",
                "linger.ms": 0,
                "request.timeout.ms": 1000,
                "message.timeout.ms": int(timeout_s * 1000),
            }
        )

    def place(self, order: str) -> bool:
        """Write an order, and return whether it is written for sure."""
        told: list[object] = []
        self._producer.produce("orders", order, on_delivery=lambda error, _: told.append(error))
        self._producer.flush(self._timeout_s + 1)
        return told == [None]
