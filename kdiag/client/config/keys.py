"""The settings that kdiag knows: their kinds, their defaults, and their names elsewhere.

The canonical name of a setting is that of Kafka's Java clients. librdkafka's names are translated
if there is a Java name for the same thing, else they are canonical themselves, like the few
settings that are kdiag's own.

Source: `AdminClientConfig`, `ConsumerConfig` and `ProducerConfig` of Kafka 4.4.0, librdkafka's
`CONFIGURATION.md`.
"""

from difflib import get_close_matches
from typing import Final, NamedTuple

import kdiag
from kdiag.clock import NS_PER_MS
from kdiag.exchange.secrets.redaction import is_secret_config

INT_MAX: Final = 2**31 - 1
LONG_MAX: Final = 2**63 - 1


class NumberKey(NamedTuple):
    """A setting that is a whole number, from `low` to `high`."""

    default: int
    low: int = 0
    high: int = LONG_MAX


class ChoiceKey(NamedTuple):
    """A setting that is one of a few words; librdkafka's spellings are keys of `others`."""

    default: str
    choices: tuple[str, ...]
    others: dict[str, str] = {}  # noqa: RUF012 - never changed


NUMBERS: Final[dict[str, NumberKey]] = {
    "auto.commit.interval.ms": NumberKey(5_000, 0, INT_MAX),
    "connections.max.idle.ms": NumberKey(540_000, -1),
    "default.api.timeout.ms": NumberKey(60_000, 0, INT_MAX),
    "heartbeat.interval.ms": NumberKey(3_000, 1, INT_MAX),
    "max.in.flight.requests.per.connection": NumberKey(5, 1, INT_MAX),
    "max.poll.interval.ms": NumberKey(300_000, 1, INT_MAX),
    "metadata.max.age.ms": NumberKey(300_000),
    "receive.buffer.bytes": NumberKey(-1, -1, INT_MAX),
    "reconnect.backoff.max.ms": NumberKey(1_000),
    "reconnect.backoff.ms": NumberKey(50),
    "request.timeout.ms": NumberKey(30_000, 0, INT_MAX),
    "retry.backoff.max.ms": NumberKey(1_000),
    "retry.backoff.ms": NumberKey(100),
    "send.buffer.bytes": NumberKey(-1, -1, INT_MAX),
    "session.timeout.ms": NumberKey(45_000, 1, INT_MAX),
    "socket.connection.setup.timeout.max.ms": NumberKey(30_000),
    "socket.connection.setup.timeout.ms": NumberKey(10_000),
}
"""Kafka's defaults, except for the buffers: these are left to the kernel."""

FLAGS: Final[dict[str, bool]] = {
    "enable.sasl.oauthbearer.unsecure.jwt": False,
    "enable.ssl.certificate.verification": True,
}
"""Settings that are `true` or `false`, with their defaults."""

CHOICES: Final[dict[str, ChoiceKey]] = {
    "auto.offset.reset": ChoiceKey(
        "latest",
        ("latest", "earliest", "none"),
        {
            "beginning": "earliest",
            "end": "latest",
            "error": "none",
            "largest": "latest",
            "smallest": "earliest",
        },
    ),
    "client.dns.lookup": ChoiceKey(
        "use_all_dns_ips", ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only")
    ),
    "group.protocol": ChoiceKey("classic", ("classic", "consumer")),
    "isolation.level": ChoiceKey("read_uncommitted", ("read_uncommitted", "read_committed")),
    "sasl.mechanism": ChoiceKey(
        "GSSAPI",
        ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "AWS_MSK_IAM", "GSSAPI"),
    ),
    "security.protocol": ChoiceKey("PLAINTEXT", ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")),
    "ssl.endpoint.identification.algorithm": ChoiceKey("https", ("https", ""), {"none": ""}),
    "ssl.keystore.type": ChoiceKey("JKS", ("JKS", "PKCS12", "PEM")),
    "ssl.truststore.type": ChoiceKey("JKS", ("JKS", "PKCS12", "PEM")),
}

LISTS: Final[dict[str, tuple[str, ...]]] = {
    "bootstrap.servers": (),
    "partition.assignment.strategy": ("range", "cooperative-sticky"),
    "ssl.cipher.suites": (),
    "ssl.enabled.protocols": ("TLSv1.2", "TLSv1.3"),
}
"""Settings that are lists of words with commas, with their defaults."""

TEXTS: Final[dict[str, str]] = {
    "as.version": "",
    "client.id": f"kdiag-{kdiag.__version__}",
    "client.rack": "",
    "group.instance.id": "",
    "group.remote.assignor": "",
    "sasl.aws.profile": "",
    "sasl.aws.region": "",
    "sasl.oauthbearer.client.credentials.client.id": "",
    "sasl.oauthbearer.config": "",
    "sasl.oauthbearer.extensions": "",
    "sasl.oauthbearer.grant.type": "",
    "sasl.oauthbearer.scope": "",
    "sasl.oauthbearer.token.command": "",
    "sasl.oauthbearer.token.endpoint.url": "",
    "sasl.username": "",
}
"""Settings that are any text, with their defaults."""

PATHS: Final = (
    "https.ca.location",
    "sasl.oauthbearer.token.file",
    "sasl.password.file",
    "ssl.certificate.location",
    "ssl.key.location",
    "ssl.keystore.location",
    "ssl.truststore.location",
)
"""Settings that name a file; `~` is the home folder."""

SECRETS: Final = (
    "sasl.jaas.config",
    "sasl.oauthbearer.client.credentials.client.secret",
    "sasl.oauthbearer.token",
    "sasl.password",
    "ssl.key.password",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.keystore.password",
    "ssl.truststore.certificates",
    "ssl.truststore.password",
)
"""Settings of Kafka's type PASSWORD: no output shows them."""

USED: Final = frozenset(
    (*NUMBERS, *FLAGS, *CHOICES, *LISTS, *TEXTS, *PATHS, *SECRETS),
)
"""Every setting that kdiag uses, by its canonical name."""

READING_OR_RUNNING: Final = frozenset(
    {"sasl.oauthbearer.token.command", "sasl.oauthbearer.token.file", "sasl.password.file"}
)
"""Settings that start a program, or send the content of a file to the brokers."""

TRANSLATIONS: Final[dict[str, str]] = {
    "brokers": "bootstrap.servers",  # rpk's
    "max.in.flight": "max.in.flight.requests.per.connection",
    "metadata.broker.list": "bootstrap.servers",
    "sasl.mechanisms": "sasl.mechanism",
    "sasl.oauthbearer.client.id": "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.secret": "sasl.oauthbearer.client.credentials.client.secret",
    "socket.receive.buffer.bytes": "receive.buffer.bytes",
    "socket.send.buffer.bytes": "send.buffer.bytes",
    "socket.timeout.ms": "request.timeout.ms",
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.pem": "ssl.keystore.key",
}
"""librdkafka's name of a setting, or rpk's -> its Java name."""

IMPLICATIONS: Final[dict[str, tuple[str, str]]] = {
    "ssl.ca.location": ("ssl.truststore.type", "PEM"),
    "ssl.ca.pem": ("ssl.truststore.type", "PEM"),
    "ssl.certificate.pem": ("ssl.keystore.type", "PEM"),
    "ssl.key.pem": ("ssl.keystore.type", "PEM"),
}
"""librdkafka's name of a setting -> what it implies in Java's terms: its files are PEM."""

VALUES: Final[dict[tuple[str, str], str]] = {
    ("socket.receive.buffer.bytes", "0"): "-1",
    ("socket.send.buffer.bytes", "0"): "-1",
    ("ssl.ca.location", "probe"): "",
}
"""librdkafka's name and value of a setting -> Java's value."""

ALTERNATIVES: Final = (
    ("sasl.oauthbearer.token", "sasl.oauthbearer.token.file", "sasl.oauthbearer.token.command"),
    ("ssl.truststore.certificates", "ssl.truststore.location"),
    ("ssl.keystore.key", "ssl.keystore.location", "ssl.key.location"),
)
"""Settings for the same thing: the source that counts most decides which of them is used."""

TYPES: Final = {
    "ssl.keystore.type": "ssl.keystore.location",
    "ssl.truststore.type": "ssl.truststore.location",
}
"""Settings for the type of a file -> the setting that names the file."""

UNSUPPORTED: Final = frozenset(
    {
        "sasl.client.callback.handler.class",
        "sasl.login.callback.handler.class",
        "ssl.crl.location",
        "ssl.engine.factory.class",
        "ssl.engine.location",
    }
)
"""Settings that change who is trusted or how clients log in, and that kdiag cannot use."""

_FAMILIES: Final = (
    "api.version.",
    "auto.commit.",
    "basic.auth.",
    "batch.",
    "broker.address.",
    "buffer.memory",
    "compression.",
    "config.providers",
    "consume.callback.",
    "fetch.",
    "group.",
    "https.ca.",
    "interceptor.",
    "internal.",
    "key.",
    "log.",
    "max.poll.",
    "message.",
    "metadata.",
    "metric.",
    "metrics.",
    "offset.store.",
    "partitioner",
    "plugin.",
    "queue.buffering.",
    "queued.",
    "sasl.kerberos.",
    "sasl.login.",
    "sasl.oauthbearer.",
    "schema.registry.",
    "share.",
    "socket.",
    "ssl.engine.",
    "topic.",
    "transaction.",
    "value.",
)
"""Beginnings of the names of settings that Kafka's clients know and kdiag does not need."""

_ACCEPTED: Final = frozenset(
    {
        "acks",
        "allow.auto.create.topics",
        "background_event_cb",
        "bootstrap.controllers",
        "bootstrap.resolve.timeout.ms",
        "check.crcs",
        "closesocket_cb",
        "connect_cb",
        "consume_cb",
        "default_topic_conf",
        "delivery.timeout.ms",
        "dr_cb",
        "dr_msg_cb",
        "enable.auto.commit",
        "enable.idempotence",
        "enable.metrics.push",
        "error_cb",
        "exclude.internal.topics",
        "linger.ms",
        "log_cb",
        "max.block.ms",
        "max.partition.fetch.bytes",
        "max.request.size",
        "oauthbearer_token_refresh_cb",
        "offset_commit_cb",
        "opaque",
        "open_cb",
        "partitioner_cb",
        "rebalance_cb",
        "resolve_cb",
        "retries",
        "security.providers",
        "socket_cb",
        "ssl.certificate.verify_cb",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
        "ssl_ca",
        "ssl_certificate",
        "ssl_engine_callback_data",
        "ssl_key",
        "stats_cb",
        "throttle_cb",
        "transactional.id",
    }
)
"""More such settings, by their whole names."""


_LIBRDKAFKA: Final = frozenset(
    """
    api.version.fallback.ms api.version.request api.version.request.timeout.ms auto.commit.enable
    batch.num.messages broker.address.family broker.address.ttl broker.version.fallback
    builtin.features compression.codec compression.level consume.callback.max.messages
    coordinator.query.interval.ms debug delivery.report.only.error
    enable.auto.offset.store enable.gapless.guarantee enable.partition.eof enable.random.seed
    enabled_events fetch.error.backoff.ms fetch.message.max.bytes fetch.queue.backoff.ms
    fetch.wait.max.ms group.protocol.type interceptors internal.termination.signal
    log.connection.close log.queue log.thread.name log_level message.copy.max.bytes
    message.send.max.retries message.timeout.ms msg_order_cmp offset.store.method offset.store.path
    offset.store.sync.interval.ms partitioner plugin.library.paths produce.offset.report
    queue.buffering.backpressure.threshold queue.buffering.max.kbytes queue.buffering.max.messages
    queue.buffering.max.ms queued.max.messages.kbytes queued.min.messages queuing.strategy
    receive.message.max.bytes reconnect.backoff.jitter.ms request.required.acks
    sasl.kerberos.principal sasl.oauthbearer.assertion.jwt.template.file
    sasl.oauthbearer.metadata.authentication.type sasl.oauthbearer.method socket.blocking.max.ms
    socket.keepalive.enable socket.max.fails socket.nagle.disable ssl.ca.certificate.stores
    ssl.crl.location ssl.curves.list ssl.engine.id ssl.engine.location ssl.providers
    ssl.sigalgs.list statistics.interval.ms sticky.partitioning.linger.ms topic.blacklist
    topic.metadata.propagation.max.ms topic.metadata.refresh.fast.cnt
    topic.metadata.refresh.fast.interval.ms topic.metadata.refresh.interval.ms
    topic.metadata.refresh.sparse
""".split()  # noqa: SIM905 - 80 names as strings would be 80 lines
)
"""Settings that only librdkafka has, and that hold no secret."""


def default_ns(key: str) -> int:
    """Return the default of a setting that is a time in milliseconds, in nanoseconds."""
    return NUMBERS[key].default * NS_PER_MS


def is_secret(name: str) -> bool:
    """Return whether the value of a setting may be a secret, which no output shows."""
    is_known = name in USED or name in _LIBRDKAFKA
    return name in SECRETS or (not is_known and is_secret_config(name))


def is_accepted(name: str) -> bool:
    """Return whether a setting is one of Kafka's clients that kdiag does not need."""
    return name in _ACCEPTED or name in _LIBRDKAFKA or name.startswith(_FAMILIES)


def near_names(name: str) -> list[str]:
    """Return the settings that a misspelt name may have meant, the likeliest first."""
    plain = name.lower().replace("_", ".").replace("-", ".")
    return get_close_matches(plain, sorted({*USED, *TRANSLATIONS}), 2, 0.8)
