"""What brokers refuse: which client cannot do what, since when, how often, and whether it ended.

    ledger   Produce   NOT_ENOUGH_REPLICAS   strict[0]    35, from .751 on, no success since
    ledger   Produce   all requests                      243

Every error code counts. Three kinds are told apart:

* most codes that Kafka's own clients do not retry say that a client cannot work: one is enough;
* those that clients retry come with every election and every rebalance: they count when they last;
* answers that belong to the protocol, such as MEMBER_ID_REQUIRED, are no refusals.

A success ends a refusal where it is about the same topic and partition.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.traffic.changes import OF_INSTANCES, Changes, Instances
from kdiag.diagnosis.traffic.ledgers import Asker, Case, Ledgers, client_of, findings_of
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.document import Clockface
from kdiag.exchange.line.shown_time import span_of_day
from kdiag.exchange.model import Exchange, Status
from kdiag.exchange.outcomes import outcomes_of
from kdiag.exchange.summary.counts import Again, AgainOn
from kdiag.findings.finding import Finding
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.error_code import ERROR_BY_CODE, error_name

if TYPE_CHECKING:
    from kdiag.diagnosis.error_codes.known_error import ErrorAdvice

LASTING_NS: Final = 5 * NS_PER_S
"""Elections and moves of coordinators are over by then, mostly."""

LEAST_LASTING: Final = 3
MOST_TOPICS: Final = 1_000
MOST_TIMES: Final = 2_000
_MOST_LOOKS: Final = 200_000
BUCKET_NS: Final = NS_PER_S // 4
_MOST_NAMES: Final = 3

NO_REFUSALS: Final = frozenset(
    {
        "MEMBER_ID_REQUIRED",
        "REBALANCE_IN_PROGRESS",
        "FETCH_SESSION_ID_NOT_FOUND",
        "INVALID_FETCH_SESSION_EPOCH",
        "UNSUPPORTED_VERSION",
        "DUPLICATE_SEQUENCE_NUMBER",
    }
)
"""Answers that tell a client how to go on; versions are judged elsewhere."""

_AT_ONCE: Final = frozenset(
    {
        "NOT_ENOUGH_REPLICAS",
        "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
        "KAFKA_STORAGE_ERROR",
        "CORRUPT_MESSAGE",
    }
)
"""Codes that clients retry, and of which one is enough: the cluster cannot do its work."""

OF_BROKERS: Final = frozenset({"KAFKA_STORAGE_ERROR"})
"""Codes that are about the broker, whatever topic was asked for."""

_LACKING_REPLICAS: Final = frozenset({"NOT_ENOUGH_REPLICAS", "NOT_ENOUGH_REPLICAS_AFTER_APPEND"})
_TIMED_OUT: Final = "REQUEST_TIMED_OUT"
_NONE: Final[Mapping[str, str]] = {}
_LEADERLESS: Final = "LEADER_NOT_AVAILABLE"

_WHEN_LASTING: Final = frozenset(
    {"UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION", "STALE_MEMBER_EPOCH", "FENCED_MEMBER_EPOCH"}
)
"""Codes that end a membership, as every rebalance may: the client joins again."""

_VERBS: Final = {
    api_keys.PRODUCE: "write to",
    api_keys.FETCH: "read",
    api_keys.LIST_OFFSETS: "look up offsets of",
    api_keys.METADATA: "find",
    api_keys.OFFSET_COMMIT: "commit offsets of",
    api_keys.OFFSET_FETCH: "read committed offsets of",
    api_keys.FIND_COORDINATOR: "find the coordinator of",
    api_keys.JOIN_GROUP: "join",
    api_keys.SYNC_GROUP: "join",
    api_keys.HEARTBEAT: "stay in",
    api_keys.CONSUMER_GROUP_HEARTBEAT: "stay in",
    api_keys.SASL_AUTHENTICATE: "log in to",
    api_keys.SASL_HANDSHAKE: "log in to",
    api_keys.INIT_PRODUCER_ID: "get a producer id from",
    api_keys.ADD_PARTITIONS_TO_TXN: "write in a transaction to",
    api_keys.END_TXN: "end a transaction of",
}
"""What a client cannot do when an API is refused, before the name of what it is about."""


Place = tuple[Asker, int, str, int | None]
"""Whose requests of which API, about what, and which partition."""


class Subject(NamedTuple):
    """What an answer is about: a topic, a group, a transaction or a broker, by `kind`."""

    name: str
    kind: str


class RefusedWork(NamedTuple):
    """What is refused to whom.

    Attributes:
        client: whose requests.
        api_key: of the requests.
        error_code: of the answers.
        about: the topic, group or transactional id; the broker's address where there is none.
        kind: what `about` is: `topic`, `group`, `transaction` or `broker`.
        partition: of the topic; None where the answer is about no partition.
    """

    client: Asker
    api_key: int
    error_code: int
    about: str
    kind: str
    partition: int | None


class RefusalLedger(msgspec.Struct):
    """How often something was refused.

    Attributes:
        count: how many parts of answers refused it.
        first_ns, last_ns: when the first and the last were sent; 0 without any.
        success_ns: when the last that succeeded after the first refusal was sent; 0 without any.
        broker: that refused the first.
        example: the number of the first exchange.
        times_ns: when requests were refused, the first of them.
        successes: the quarters of seconds in which later ones succeeded, the first of them.
    """

    count: int = 0
    first_ns: int = 0
    last_ns: int = 0
    success_ns: int = 0
    broker: str = ""
    example: int = 0
    times_ns: list[int] = []
    successes: set[int] = set()

    def add(self, exchange: Exchange) -> None:
        """Add a refused request."""
        time_ns = exchange.time_ns
        self.count += 1
        if not self.first_ns or time_ns < self.first_ns:
            self.first_ns = time_ns
            self.broker, self.example = exchange.connection.broker, exchange.number
        self.last_ns = max(self.last_ns, time_ns)
        if len(self.times_ns) < MOST_TIMES:
            self.times_ns.append(time_ns)

    def add_counted(self, count: int, times_ns: Sequence[int], broker: str, example: int) -> None:
        """Add requests that a broker refused.

        Args:
            count: how many.
            times_ns: when, sorted; of many the first, and the last.
            broker: who refused them.
            example: the number of the first.
        """
        self.count += count
        if not self.first_ns or times_ns[0] < self.first_ns:
            self.first_ns, self.broker, self.example = times_ns[0], broker, example
        self.last_ns = max(self.last_ns, times_ns[-1])
        self.times_ns = [*self.times_ns, *times_ns][:MOST_TIMES]

    def succeed(self, time_ns: int) -> None:
        """Note a request that succeeded, if it came after the first refusal."""
        if time_ns > self.first_ns:
            self.success_ns = max(self.success_ns, time_ns)
            if len(self.successes) < MOST_TIMES:
                self.successes.add(time_ns // BUCKET_NS)

    @property
    def lasted_ns(self) -> int:
        """The longest time in which it was refused again and again, and never succeeded."""
        longest_ns, began_ns, before_ns = 0, 0, 0
        successes = sorted(self.successes)
        for time_ns in sorted(self.times_ns):
            at = bisect_left(successes, before_ns // BUCKET_NS)
            if not began_ns or (at < len(successes) and successes[at] <= time_ns // BUCKET_NS):
                began_ns = time_ns
            longest_ns = max(longest_ns, time_ns - began_ns)
            before_ns = time_ns
        return longest_ns

    @property
    def is_over(self) -> bool:
        """Whether a later request succeeded."""
        return self.success_ns > self.last_ns


class Refusing:
    """Looks at the error codes of answers.

    Attributes:
        asked: how many requests of an API each client sent that were answered.
        refused: what was refused, by partition.
        requests: how many requests were refused; the partition of these keys is None.
        last_ns: the time of the latest exchange.
    """

    def __init__(self, names: TopicNames) -> None:
        self.asked: Counter[tuple[Asker, int]] = Counter()
        self.refused: Ledgers[RefusedWork, RefusalLedger] = Ledgers(RefusalLedger)
        self.requests: Counter[RefusedWork] = Counter()
        self.changes = Changes()
        self.instances = Instances()
        self.last_ns = 0
        self._names = names
        self._topics: set[str] = set()
        self._open: dict[tuple[Asker, int], dict[RefusedWork, RefusalLedger]] = {}
        self._by_place: dict[Place, list[RefusalLedger]] = {}
        self._looks_left = _MOST_LOOKS
        self._not_looked_at = 0

    @property
    def left_out(self) -> int:
        """Return how often there was no room for a refusal, or no time to look at an answer."""
        return self.refused.left_out + self._not_looked_at

    def add(self, dissection: Dissection) -> AgainOn | None:
        """Add an exchange; return who adds those like it."""
        exchange = dissection.exchange
        self.last_ns = max(self.last_ns, exchange.time_ns)
        if exchange.api_key is None or exchange.request is None or dissection.response is None:
            return None
        self.changes.add(dissection)
        self.instances.add(dissection)
        if exchange.api_key == api_keys.METADATA and not dissection.error_code:
            self.learn_topics(dissection.topics)
        asked = client_of(exchange), exchange.api_key
        self.asked[asked] += 1
        if dissection.error_code or asked in self._open:
            self._look(asked, dissection)
        return partial(self._again_on, bool(dissection.error_code))

    def _again_on(self, has_error: bool, exchange: Exchange) -> Again:  # noqa: FBT001 - for partial
        assert exchange.api_key is not None
        asked = client_of(exchange), exchange.api_key

        def again(exchanges: Sequence[Exchange]) -> None:
            self.asked[asked] += len(exchanges)
            if has_error or asked in self._open:  # alike ones may be about other partitions
                for each in exchanges:
                    self._look(asked, Dissection(each))

        return again

    def learn_topics(self, topics: Iterable[str]) -> None:
        """Learn names of topics that exist, for what is similar to them."""
        if len(self._topics) < MOST_TOPICS:
            self._topics.update(topics)

    def _look(self, asked: tuple[Asker, int], dissection: Dissection) -> None:
        """Count what each part of an answer came to."""
        exchange, response = dissection.exchange, dissection.response
        if response is None or response.status is not Status.OK:
            return
        if self._looks_left <= 0:
            self._not_looked_at += 1
            return
        self._looks_left -= 1
        about = _about(dissection) or Subject(exchange.connection.broker, "broker")
        failed = set()
        for code, topic, index in outcomes_of(response):
            subject = Subject(topic, "topic") if topic else about
            place = (*asked, subject.name, index)
            if not code:
                self.succeed(place, exchange.time_ns)
            elif error_name(code) not in NO_REFUSALS:
                broker = exchange.connection.broker
                refusal, ledger = self.refusal_of(place, code, subject, broker)
                if ledger is not None:
                    ledger.add(exchange)
                failed.add(refusal._replace(partition=None))
        self.requests.update(failed)
        if not failed and asked in self._open:
            self._close(asked)

    def _close(self, asked: tuple[Asker, int]) -> None:
        """Look at no more successes of a client where all that was refused succeeded since."""
        left = {key: of for key, of in self._open[asked].items() if not of.is_over}
        if left:
            self._open[asked] = left
        else:
            del self._open[asked]

    def succeed(self, place: Place, time_ns: int) -> None:
        """Note that something succeeded, in case that it was refused before."""
        for ledger in self._by_place.get(place, ()):
            ledger.succeed(time_ns)

    def refusal_of(
        self, place: Place, code: int, subject: Subject, broker: str
    ) -> tuple[RefusedWork, RefusalLedger | None]:
        """Return what is refused with an error, and its ledger; None if there is no room for it.

        Args:
            place: what was asked for.
            code: of the error.
            subject: what the answer is about.
            broker: who answers.
        """
        client, api_key, _, index = place
        if error_name(code) in OF_BROKERS:
            subject, index = Subject(broker, "broker"), None
        refusal = RefusedWork(client, api_key, code, *subject, index)
        ledger = self.refused.of(refusal)
        if ledger is not None:
            self._open.setdefault((client, api_key), {})[refusal] = ledger
            known = self._by_place.setdefault(place, [])
            if not any(each is ledger for each in known):
                known.append(ledger)
        return refusal, ledger

    @property
    def hindered(self) -> frozenset[Asker]:
        """Return the clients that were refused something that lasted or matters."""
        return frozenset(key.client for found in self._groups() for key, _ in found)

    def _groups(self) -> list[list[tuple[RefusedWork, RefusalLedger]]]:
        """Return what was refused by error and what it is about, as far as it matters."""
        groups: dict[tuple[int, str, str], list[tuple[RefusedWork, RefusalLedger]]] = {}
        ledgers = sorted(self.refused.items(), key=lambda each: (each[1].first_ns, each[1].example))
        for key, of in ledgers:
            about = self._names.name(key.about) or key.about
            groups.setdefault((key.error_code, key.kind, about), []).append((key, of))
        return [
            found
            for (code, _, _), found in groups.items()
            if _counts(code, [of for _, of in found])
        ]

    @property
    def lacking_replicas(self) -> frozenset[str]:
        """Return the topics whose writes are refused because too few replicas are in sync."""
        return frozenset(
            self._names.name(key.about) or key.about
            for key, _ in self.refused.items()
            if error_name(key.error_code) in _LACKING_REPLICAS
        )

    def findings(
        self, causes: Sequence[str] = (), waits: Mapping[str, str] = _NONE
    ) -> Iterator[Finding]:
        """Yield what is refused, one finding for each error and what it is about.

        Args:
            causes: what else is wrong that may be behind it, such as addresses of brokers.
            waits: how long writes waited for followers, by topic; those that time out are not
                reported once more.
        """
        by_rule: dict[str, list[Case]] = {}
        for found in self._groups():
            first, error = found[0][0], error_name(found[0][0].error_code)
            wait = waits.get(self._names.name(first.about) or first.about, "")
            if wait and error == _TIMED_OUT:
                continue
            also = [wait] if wait and error in _LACKING_REPLICAS else []
            evidence = self._evidence(found, [*also, *causes])
            is_over = all(of.is_over for _, of in found)
            is_work = any(key.api_key in _VERBS for key, _ in found)
            rule = ("KD4502" if is_over else "KD4501") if is_work else "KD4503"
            subject = f"{evidence['error']} for {evidence['about']}"
            by_rule.setdefault(rule, []).append(Case(evidence["count"], subject, evidence))
        for rule, cases in sorted(by_rule.items()):
            for case in sorted(cases, key=lambda each: (-each.badness, each.subject))[
                :_MOST_FINDINGS
            ]:
                yield from findings_of(rule, [case])

    def _evidence(
        self, found: Sequence[tuple[RefusedWork, RefusalLedger]], causes: Sequence[str]
    ) -> dict[str, Any]:
        """Return the evidence of what is refused with one error about one thing."""
        from kdiag.diagnosis.error_codes.catalog import ADVICE  # noqa: PLC0415 - 20 ms

        first = found[0][0]
        by_client: Counter[str] = Counter()
        by_api: Counter[int] = Counter()
        for key in dict.fromkeys(key._replace(partition=None) for key, _ in found):
            by_client[key.client.client_id or key.client.host] += self.requests[key]
            by_api[key.api_key] += self.requests[key]
        first_ns = min(of.first_ns for _, of in found)
        last_ns = max(of.last_ns for _, of in found)
        error = error_name(first.error_code)
        partitions = sorted({key.partition for key, _ in found if key.partition is not None})
        asked = sum(self.asked[asked] for asked in {(key.client, key.api_key) for key, _ in found})
        example = min(found, key=lambda each: each[1].first_ns)[1]
        clock = Clockface()
        return {
            "who": _listed([name for name, _ in by_client.most_common()]),
            "what": _VERBS.get(by_api.most_common(1)[0][0], "use"),
            "kind": first.kind,
            "subject": self._names.name(first.about) or first.about,
            "about": _subject(first.kind, self._names.name(first.about) or first.about, partitions),
            "count": by_client.total(),
            "asked": asked,
            "apis": _listed([_api(api_key) for api_key, _ in by_api.most_common()]),
            "error": error,
            "when": self._when(found, first_ns, last_ns),
            "because": self._because(first, error, first_ns, by_client, causes),
            "first_time": clock.text(first_ns),
            "last_time": clock.text(last_ns),
            "clients": dict(by_client.most_common()),
            "broker": example.broker,
            "exchange": example.example,
            "usual_cause": _usual_cause(ADVICE.get(error), has_cause=bool(causes)),
            "advice": ADVICE[error].fix if error in ADVICE else "See the broker's log.",
        }

    def _when(
        self, found: Sequence[tuple[RefusedWork, RefusalLedger]], first_ns: int, last_ns: int
    ) -> str:
        span = span_of_day(first_ns, last_ns)
        span = f"from {span}" if " to " in span else f"at {span}"
        if all(of.is_over for _, of in found):
            return f"{span}; later ones succeeded"
        since = "" if any(of.success_ns for _, of in found) else ", none succeeded since"
        is_open = first_ns != last_ns and self.last_ns - last_ns < LASTING_NS
        return f"{span}{since}{', not over at the end of the capture' if is_open else ''}"

    def _because(
        self,
        refusal: RefusedWork,
        error: str,
        first_ns: int,
        by_client: Counter[str],
        causes: Sequence[str],
    ) -> str:
        """Return what the capture shows beside it: counts of clients, changes, similar names."""
        parts = []
        if len(by_client) > 1:
            counts = by_client.most_common(_MOST_NAMES)
            parts.append(", ".join(f"{name} {count:,}" for name, count in counts))
        about = self._names.name(refusal.about) or refusal.about
        change = self.changes.before(first_ns, about)
        if change:
            parts.append(change)
        if error == "UNKNOWN_TOPIC_OR_PARTITION":
            similar = get_close_matches(about, sorted(self._topics), n=1)
            parts += [f"a topic with a similar name: {name}" for name in similar]
        if error in {"NOT_LEADER_OR_FOLLOWER", "NOT_COORDINATOR", *_LACKING_REPLICAS}:
            parts += causes
        if error in OF_INSTANCES:
            parts += self.instances.shared(refusal.about)
        if error in OF_BROKERS and (count := self._leaderless_since(first_ns)):
            parts.append(f"then {count:,} requests answered with {_LEADERLESS}")
        return f" ({'; '.join(parts)})" if parts else ""

    def _leaderless_since(self, time_ns: int) -> int:
        """Return how many requests found a partition without a leader after a time."""
        later = {
            key._replace(partition=None)
            for key, of in self.refused.items()
            if error_name(key.error_code) == _LEADERLESS and of.first_ns >= time_ns
        }
        return sum(self.requests[key] for key in later)


def _usual_cause(advice: "ErrorAdvice | None", *, has_cause: bool) -> str:
    """Return the most frequent cause of an error; none where the capture shows another one."""
    return "" if advice is None or has_cause else advice.causes[0]


_MOST_FINDINGS: Final = 5
"""Of one rule: more errors than that are in the table of errors."""


def _about(dissection: Dissection) -> Subject | None:
    """Return the group or the transaction that a request is about, if it is one."""
    for kind, named in (
        ("group", dissection.groups),
        ("transaction", dissection.transactional_ids),
    ):
        if len(named) == 1:
            return Subject(next(iter(named)), kind)
    return None


def _counts(error_code: int, refused: Sequence[RefusalLedger]) -> bool:
    """Return whether refusals matter: by their code, or because they last."""
    error = ERROR_BY_CODE.get(error_code)
    if error is None or error.name in _AT_ONCE:
        return True
    if not error.is_retriable and error.name not in _WHEN_LASTING:
        return True
    count = sum(of.count for of in refused)
    return count >= LEAST_LASTING and max(of.lasted_ns for of in refused) >= LASTING_NS


def _subject(kind: str, about: str, partitions: Sequence[int]) -> str:
    if kind == "topic" and partitions:
        shown = ",".join(map(str, partitions[:_MOST_NAMES]))
        return f"{about}[{shown}{',…' if len(partitions) > _MOST_NAMES else ''}]"
    return f"{kind} {about}"


def _api(api_key: int) -> str:
    api = API_BY_KEY.get(api_key)
    return f"API {api_key}" if api is None else api.name


def _listed(names: Sequence[str]) -> str:
    """Return names as text: `a`, `a and b`, `a, b and 3 more`."""
    if len(names) > _MOST_NAMES:
        return f"{', '.join(names[: _MOST_NAMES - 1])} and {len(names) - _MOST_NAMES + 1} more"
    *before, last = names
    return f"{', '.join(before)} and {last}" if before else last
