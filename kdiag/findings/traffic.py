"""KD41xx to KD51xx: what the traffic of clients and brokers shows, in a capture."""

from typing import Final

from kdiag.findings.rule import Rule, Severity

_ERROR: Final = Severity.ERROR
_WARNING: Final = Severity.WARNING
_INFO: Final = Severity.INFO

RULES: Final = {
    "KD4101": Rule(
        _INFO,
        "{client} sends records one by one: {records} in {requests} Produce requests, {per_s} a "
        "second",
        "Each request costs the broker, and the network, as much as one with hundreds of records. "
        "A producer that sends at once, without waiting for more, makes a batch of whatever is "
        "there: often a single record.",
        "Set linger.ms to 5 or more and leave batch.size at its default (librdkafka: linger.ms, "
        "batch.num.messages); do not wait for each send, and do not flush after each record.",
    ),
    "KD4102": Rule(
        _INFO,
        "{client} writes tiny batches: {bytes_per_batch} bytes on average, {per_s} Produce "
        "requests a second",
        "Batches that small are mostly headers, and compress badly. They are made when a producer "
        "does not wait, or spreads few records over many partitions.",
        "Raise linger.ms and batch.size, use fewer partitions, or the sticky partitioner for "
        "records without keys.",
    ),
    "KD4103": Rule(
        _INFO,
        "{client} writes {megabytes} MB uncompressed to topic {topic}, of which {saved_pct} % "
        "could be spared",
        "A part of what was sent was compressed to see how small it gets, with a fast setting. "
        "Compression spares network, disk and cache of the brokers, and of all that fetch it.",
        "Set compression.type=lz4 or zstd in the producer.",
    ),
    "KD4104": Rule(
        _WARNING,
        "{client} writes with acks=0 (Produce requests: {requests})",
        "The broker does not answer, so the producer never learns that a record was refused or "
        "lost: not if the leader moves, not if a topic is gone.",
        "Use acks=all unless records may be lost without anybody noticing.",
    ),
    "KD4105": Rule(
        _WARNING,
        "{client} writes batches of up to {largest_bytes} bytes, above Kafka's default limit",
        "message.max.bytes was raised for them (1,048,588 by default). Each broker and each "
        "consumer holds a batch in memory as a whole, and other requests of its connection wait "
        "behind it.",
        "Keep large values elsewhere and write a reference to them, or split them; otherwise see "
        "that max.partition.fetch.bytes, fetch.max.bytes and replica.fetch.max.bytes fit.",
    ),
    "KD4106": Rule(
        _WARNING,
        "partition {partition} of topic {topic} gets {share_pct} % of its bytes, {times_mean} "
        "times the mean of its {partitions} partitions",
        "One leader and one consumer do most of the work, and the others cannot help: a key that "
        "is frequent, a partitioner that is not one, or a producer that names the partition.",
        "Find the key (kdiag report hot_keys --values); choose one that spreads, or add something "
        "to it.",
    ),
    "KD4201": Rule(
        _WARNING,
        "fetch sessions of {client} with {broker} do not last: {full} of {fetches} fetches ask for "
        "a new one",
        "With a session a fetch names only what changed (KIP-227); without one it names all "
        "partitions each time, and so does the answer. Brokers end sessions when more are open "
        "than they have slots for.",
        "Raise max.incremental.fetch.session.cache.slots of the brokers, or find what opens so "
        "many sessions.",
    ),
    "KD4202": Rule(
        _INFO,
        "{client} commits {per_s} times a second in group {group}",
        "Each commit is a record in __consumer_offsets, written with acks=all, and a request that "
        "the consumer often waits for. Committing after each record is the usual cause.",
        "Commit after each poll at most, better every few seconds (auto.commit.interval.ms).",
    ),
    "KD4301": Rule(
        _WARNING,
        "{client} asks for metadata {busiest} times in one second, {requests} times in all",
        "Clients ask when they start, every five minutes, and when something moved. So many come "
        "from a topic that does not exist, from a broker that cannot be reached, or from code "
        "that makes a new client for each record.",
        "See what is asked: kdiag decode --api Metadata; use one client for the whole process.",
    ),
    "KD4302": Rule(
        _WARNING,
        "{client} is throttled by a quota: {count} answers tell it to wait, {total_ms} ms in all",
        "It uses more of the network, or of the brokers' time, than its quota allows. The broker "
        "leaves its connection alone for that time (KIP-219), so that it sees latency.",
        "Raise the quota (kafka-configs --entity-type users or clients), or have it send less: "
        "compress, batch.",
    ),
    "KD4303": Rule(
        _WARNING,
        "{client} gave up on {broker} after {waited_ms} ms: no answer to {api}",
        "The client closed the connection while it waited, as clients do when request.timeout.ms "
        "is over, and asks again elsewhere: the broker may do the same work twice.",
        "See what the broker was at (its log, its request metrics); raise request.timeout.ms only "
        "if the work takes so long.",
    ),
    "KD4401": Rule(
        _WARNING,
        "broker {broker} answers late, whoever asks: half of the answers to each of {clients} "
        "clients take more than {late_ms} ms",
        "Requests that brokers serve at once take that long, for every client, and now and then "
        "one is much faster, so that it is not the way there. Fetches and joins, which may wait, "
        "do not count, nor do connections that carry them.",
        "Look at that broker: disk, garbage collection, request handler threads, replication of "
        "acks=all.",
    ),
    "KD4402": Rule(
        _ERROR,
        "broker {broker} answered no client from {first} to {last} {zone}, while {clients} asked "
        "({requests} requests)",
        "Its connections stayed open meanwhile, so the machine was there and the process was not: "
        "it was paused, hung, or collected garbage. A broker that is gone refuses or resets "
        "connections.",
        "Look at the broker's log and its garbage collection log at that time, and for what can "
        "pause it: a snapshot of the virtual machine, a full disk, swapping, a debugger.",
    ),
    "KD4403": Rule(
        _WARNING,
        "broker {broker} is slow: {answers} answers, half of them after more than {median_ms} ms, "
        "beside {beside}",
        "The same clients get quicker answers from the other brokers, by more than chance, and "
        "it is not the way there: that was measured, or now and then an answer is quick.",
        "Look at that broker: disk, garbage collection, request handler threads, replication of "
        "acks=all.",
    ),
    "KD4404": Rule(
        _ERROR,
        "{clients} cannot write to {about} with acks=all: {requests} Produce requests to broker "
        "{broker} waited from {first} {zone} on, not over at the end of the capture, while it "
        "answered other requests{because}",
        "With acks=all the leader answers when all in-sync replicas have the records. It was "
        "alive, so it waited for a follower that is down, hangs, or cannot reach it. After 30 s "
        "(replica.lag.time.max.ms) the leader goes on without that follower; if fewer than "
        "min.insync.replicas are left, it refuses writes with NOT_ENOUGH_REPLICAS.",
        "Find the replicas that are out of sync (kdiag check), and start, resume or reconnect "
        "their brokers.",
    ),
    "KD4405": Rule(
        _WARNING,
        "{clients} could not write to {about} with acks=all from {first} to {last} {zone}: "
        "{requests} Produce requests to broker {broker} waited, while it answered other "
        "requests{because}",
        "With acks=all the leader answers when all in-sync replicas have the records. It was "
        "alive, so it waited for a follower that was down, hung, or could not reach it, until it "
        "came back or was dropped from the in-sync replicas.",
        "See what the brokers of the other replicas did at that time: a restart, a long garbage "
        "collection, a network that was cut.",
    ),
    "KD4501": Rule(
        _ERROR,
        "{who} cannot {what} {about}: {count} of {asked} {apis} requests refused with {error} "
        "{when}{because}",
        "The broker answered these requests with an error. Errors that clients retry, and that "
        "come with every election or rebalance, count only if they last.",
        "{advice} See `kdiag errcode {error}`.",
    ),
    "KD4502": Rule(
        _WARNING,
        "{who} could not {what} {about}: {count} of {asked} {apis} requests refused with {error} "
        "{when}{because}",
        "The broker answered these requests with an error, and a later one succeeded. What was "
        "refused may be lost where the client gave up meanwhile.",
        "{advice} See `kdiag errcode {error}`.",
    ),
    "KD4503": Rule(
        _INFO,
        "{who} was refused {apis} for {about}: {count} of {asked} requests answered with {error} "
        "{when}{because}",
        "The broker refused a request of an administrator or a tool. Clients that write and read "
        "do not send it.",
        "{advice} See `kdiag errcode {error}`.",
    ),
    "KD5101": Rule(
        _WARNING,
        "{client} does not work with Kafka 4: {old_requests}",
        "Kafka 4.0 removed these versions (KIP-896), and a broker ends the connection of who uses "
        "them. The broker offered newer ones, which the client did not choose.",
        "Update the client's library before the brokers.",
    ),
}
"""By id."""
