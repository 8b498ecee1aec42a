"""KD35xx: problems of open transactions."""

from typing import Final

from kdiag.findings.rule import Rule, Severity

RULES: Final = {
    "KD3501": Rule(
        Severity.ERROR,
        "a transaction of producer id {producer_id} hangs in {partition}: its coordinator {why}",
        "The partition waits for a marker that nobody will write. Readers with "
        "isolation.level=read_committed get nothing from its first record on, compaction and "
        "retention stop there, and no timeout ends it.",
        "Make sure that no producer still writes to it, then run `{command}`.",
    ),
    "KD3502": Rule(
        Severity.WARNING,
        "transaction {transactional_id} has been open for {age_s} s, longer than its timeout of "
        "{timeout_s} s",
        "Its coordinator aborts a transaction after transaction.timeout.ms, but looks for those "
        "every transaction.abort.timed.out.transaction.cleanup.interval.ms, 10 s, alone; one that "
        "lasts longer waits for markers that a leader does not take.",
        "See the log of broker {node_id}, its coordinator, and `kdiag check`.",
    ),
    "KD3503": Rule(
        Severity.INFO,
        "no coordinator tells of producer id {producer_id}, whose transaction is open in "
        "{partition}",
        "It hangs, or you may not DESCRIBE its transactional id: brokers leave out those without a "
        "word. It began within transaction.max.timeout.ms, so that its coordinator may still end "
        "it.",
        "Look again in {again_s} s, as somebody who may describe all transactional ids.",
    ),
    "KD3504": Rule(
        Severity.INFO,
        "transaction {transactional_id} is open since {age_s} s and holds back {blocked_records} "
        "records of {count} partitions",
        "It is alive: its coordinator has it open. Readers with isolation.level=read_committed "
        "get what is behind its first record once it ends.",
        "Have its producer commit more often, or lower its transaction.timeout.ms, {timeout_s} s. "
        "Broker {node_id} aborts it in {left_s} s.",
    ),
    "KD3505": Rule(
        Severity.WARNING,
        "the producer of transaction {transactional_id} wrote nothing for {silent_s} s, though its "
        "last {earlier} transactions took at most {longest_ms} ms; {blocked_records} records of "
        "{count} partitions are held back{waits}",
        "It seems to be dead. Its transaction stays open until its coordinator, broker {node_id}, "
        "aborts it after transaction.timeout.ms, {timeout_s} s. Readers with "
        "isolation.level=read_committed get nothing behind its first record until then.",
        "Restart the producer with the same transactional.id, which aborts the transaction at "
        "once; otherwise broker {node_id} aborts it in {left_s} s. Lower its "
        "transaction.timeout.ms.",
    ),
}
