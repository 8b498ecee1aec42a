"""Wrong inputs of commands that ask a cluster.

Each ends with 2 and one line, which says what would be right; nothing is printed, and nothing left.
acks.pcap stands for that capture, TMP for the folder; nobody listens on port 1.
"""

from pathlib import Path
from typing import Final

import pytest

from programs.complaint import assert_refused
from tiers.cases import for_each

pytestmark = pytest.mark.thorough

LIVE: Final = (
    ("check", "bootstrap.servers (not set): give -b HOST:PORT"),
    ("check -b", "Option '-b' requires an argument."),
    ('check -b ""', "bootstrap.servers (not set): give -b HOST:PORT"),
    ("check -b :9092", "--bootstrap-server: expected host:port, found ':9092'"),
    ("check -b host:", "--bootstrap-server: expected host:port, found 'host:'"),
    ("check -b host:x", "--bootstrap-server: expected host:port, found 'host:x'"),
    ("check -b 127.0.0.1:0", "--bootstrap-server: expected a port from 1 to 65535"),
    ("check -b 127.0.0.1:70000", "--bootstrap-server: expected a port from 1 to 65535"),
    ("check -b ,", "bootstrap.servers (not set): give -b HOST:PORT"),
    ("check -b 127.0.0.1:1 extra", "Got unexpected extra argument(s) (extra)"),
    ("check -b 127.0.0.1:1 --timeout 0", "'0' is not longer than zero; write 500ms or 10s"),
    (
        "check -b 127.0.0.1:1 --timeout soon",
        "'soon' is not a duration; write one such as 500ms, 10s or",
    ),
    (
        "check -b 127.0.0.1:1 --timeout -1s",
        "'-1s' is not a duration; write one such as 500ms, 10s or",
    ),
    ("check -b 127.0.0.1:1 -o nope", "'nope' is not one of 'table', 'wide', 'json', 'jsonl'"),
    ("check -b 127.0.0.1:1 --fail-on nope", "'nope' is not one of 'error', 'warning', 'info'."),
    ("check -b 127.0.0.1:1 --config nosuch", "nosuch: No such file or directory"),
    ("check -b 127.0.0.1:1 --config folder", "folder: Is a directory"),
    (
        "check -b 127.0.0.1:1 --config bad.properties",
        "security.protocol (bad.properties:1): expected one of",
    ),
    ("check -b 127.0.0.1:1 -X nope", "-X: expected key=value"),
    ("check -b 127.0.0.1:1 -X =x", "-X: expected key=value"),
    (
        "check -b 127.0.0.1:1 -X security.protocol=NOPE",
        "security.protocol (-X): expected one of PLAINTEXT, SSL",
    ),
    (
        "check -b 127.0.0.1:1 -X security.protocol=SASL_SSL",
        "sasl.mechanism (default): GSSAPI (Kerberos) is not",
    ),
    (
        "check -b 127.0.0.1:1 -X security.protocol=SASL_PLAINTEXT -X sasl.mechanism=NOPE",
        "sasl.mechanism (-X): expected one of PLAIN",
    ),
    (
        "check -b 127.0.0.1:1 -X security.protocol=SASL_SSL -X sasl.mechanism=PLAIN",
        "sasl.mechanism (-X): PLAIN needs a",
    ),
    (
        "check -b 127.0.0.1:1 -X security.protocol=SSL -X ssl.truststore.location=nosuch",
        "ssl.truststore.location (-X): cannot read nosuch: No such",
    ),
    (
        "check -b 127.0.0.1:1 -X security.protocol=SSL -X ssl.truststore.location=text",
        "ssl.truststore.location (-X): text: it is neither PEM nor",
    ),
    (
        "check -b 127.0.0.1:1 -X security.protocol=SSL -X ssl.keystore.location=text",
        "ssl.keystore.location (-X): text: it is neither PEM nor",
    ),
    (
        "check -b 127.0.0.1:1 -X request.timeout.ms=x",
        "request.timeout.ms (-X): expected a whole number, found",
    ),
    (
        "check -b 127.0.0.1:1 -X request.timeout.ms=-5",
        "request.timeout.ms (-X): expected 0 to 2147483647, found",
    ),
    (
        "check -b 127.0.0.1:1 -X client.dns.lookup=nope",
        "client.dns.lookup (-X): expected one of use_all_dns_ips",
    ),
    (
        "check -b 127.0.0.1:1 --write TMP/no/such/x.pcap",
        "TMP/no/such/x.pcap: cannot be written: No such file or",
    ),
    ("check -b 127.0.0.1:1 --write folder", "folder: cannot be written: Is a directory"),
    ('check -b 127.0.0.1:1 -g ""', "a name is not empty"),
    ('check -b "bad host:9092"', "--bootstrap-server: expected host:port, found 'bad"),
    ("api-versions", "bootstrap.servers (not set): give -b HOST:PORT"),
    ("api-versions -b 127.0.0.1:1 -a Nope", "no API is called 'Nope'; did you mean Envelope?"),
    (
        "api-versions -b 127.0.0.1:1 --to nope",
        "'nope' is not a destination: give a broker's id, any",
    ),
    (
        "api-versions -b 127.0.0.1:1 --to leader:x",
        "'leader:x' is not a destination: give a broker's id, any",
    ),
    (
        "api-versions -b 127.0.0.1:1 --to coordinator:",
        "'coordinator:' is not a destination: give a broker's id",
    ),
    ("api-versions -b 127.0.0.1:1 extra", "Got unexpected extra argument(s) (extra)"),
    ("request", "Missing argument 'API'."),
    ("request -b 127.0.0.1:1", "Missing argument 'API'."),
    ("request -b 127.0.0.1:1 Nope", "no API is called 'Nope'; did you mean Envelope?"),
    (
        'request -b 127.0.0.1:1 Metadata "{"',
        "the argument is not JSON: line 1, column 2: Expecting",
    ),
    (
        'request -b 127.0.0.1:1 Metadata "[]"',
        "the argument must be an object with the fields of the",
    ),
    (
        'request -b 127.0.0.1:1 Metadata "3"',
        "the argument must be an object with the fields of the",
    ),
    (
        'request -b 127.0.0.1:1 Metadata "{\\"nope\\": 1}"',
        "nope: version 13 has no such field; it has topics",
    ),
    ('request -b 127.0.0.1:1 Metadata "{\\"topics\\": 1}"', "topics: expected a list, got int"),
    (
        'request -b 127.0.0.1:1 Metadata "{\\"topics\\": [{\\"nope\\": 1}]}"',
        "topics[0].nope: version 13 has no such field; it has",
    ),
    ("request -b 127.0.0.1:1 Metadata @nosuch", "nosuch cannot be read: No such file or directory"),
    ("request -b 127.0.0.1:1 Metadata @folder", "folder cannot be read: Is a directory"),
    ("request -b 127.0.0.1:1 Metadata -V 99", "Metadata has versions 0-13, not 99"),
    ("request -b 127.0.0.1:1 Metadata -V x", "'x' is not a valid int range."),
    ("request -b 127.0.0.1:1 Metadata -V -1", "-1 is not in the range x>=0."),
    (
        "request -b 127.0.0.1:1 Metadata --to nope",
        "'nope' is not a destination: give a broker's id, any",
    ),
    (
        "request -b 127.0.0.1:1 Metadata --fields --template",
        "choose one of --fields and --template",
    ),
    (
        'request -b 127.0.0.1:1 Heartbeat "{\\"generationId\\": 99999999999}"',
        "generationId: 99999999999 is not of type int32",
    ),
    (
        'request -b 127.0.0.1:1 Heartbeat "{\\"generationId\\": \\"x\\"}"',
        "generationId: expected int32, got str",
    ),
    ("request -b 127.0.0.1:1 Metadata {} extra", "Got unexpected extra argument(s) (extra)"),
    ("find-coordinator", "give names, or --moves alone"),
    ("find-coordinator -b 127.0.0.1:1", "give names, or --moves alone"),
    ('find-coordinator -b 127.0.0.1:1 ""', "a name is not empty"),
    ("find-coordinator -b 127.0.0.1:1 g --txn --share", "choose one of --txn and --share"),
    ("find-coordinator -b 127.0.0.1:1 g --moves", "give names, or --moves alone"),
    ("find-coordinator -b 127.0.0.1:1 g --count 2", "is for --watch"),
    (
        "find-coordinator -b 127.0.0.1:1 g --watch --interval 0",
        "'0' is not longer than zero; write 500ms or 10s",
    ),
    (
        "find-coordinator -b 127.0.0.1:1 g --watch --interval x",
        "'x' is not a duration; write one such as 500ms, 10s or",
    ),
    ("find-coordinator -b 127.0.0.1:1 g --watch --count 0", "0 is not in the range x>=1."),
    ("tail", "give at least one"),
    ("tail -b 127.0.0.1:1", "give at least one"),
    ('tail -b 127.0.0.1:1 ""', "TOPIC: a topic has a name"),
    ("tail -b 127.0.0.1:1 '^('", "^( (TOPIC): names of topics have letters, digits"),
    ("tail -b 127.0.0.1:1 t -o x", "x (--offset): no offset; write beginning, end, 42, +42"),
    ('tail -b 127.0.0.1:1 t -o ""', "--offset: no offset; write beginning, end, 42, +42, -42"),
    ("tail -b 127.0.0.1:1 t -o 5:2", "5:2 (--offset): the offset to stop before is lower than"),
    ("tail -b 127.0.0.1:1 t -o @never", "--offset: 'never' is not a moment; write 2026-01-15"),
    ("tail -b 127.0.0.1:1 t -p x", "x (TOPIC): expected partitions such as 0,3,5-7 or 0@120"),
    ("tail -b 127.0.0.1:1 t -p 5-2", "5-2 (--partition): names no partition; write them such as"),
    ("tail -b 127.0.0.1:1 t -n 0", "0 is not in the range x>=1."),
    ("tail -b 127.0.0.1:1 t -n x", "'x' is not a valid int range."),
    ("tail -b 127.0.0.1:1 t --until never", "'never' is not a moment; write 2026-01-15"),
    ("tail -b 127.0.0.1:1 t -e -F", "choose one of --follow and --exit"),
    ('tail -b 127.0.0.1:1 t --grep "("', "( (--grep): not a regular expression: missing )"),
    ('tail -b 127.0.0.1:1 t -f "%y"', "%y (--format): '%y' at character 1 is not a verb or"),
    ('tail -b 127.0.0.1:1 t -f "%s" -J', "it goes with text, not json"),
    (
        "tail -b 127.0.0.1:1 t --output nope",
        "'nope' is not one of 'text', 'json', 'jsonl', 'parquet'.",
    ),
    ("tail -b 127.0.0.1:1 t --output parquet", "give --output parquet and --out FILE together"),
    ("tail -b 127.0.0.1:1 t --out x", "give --output parquet and --out FILE together"),
    ("tail -b 127.0.0.1:1 t --output parquet --out TMP/no/x", "there is no folder TMP/no"),
    ("tail -b 127.0.0.1:1 t --output parquet --out folder", "folder is a folder, not a file"),
    (
        "tail -b 127.0.0.1:1 t --key-format nope",
        "'nope' is not one of 'auto', 'text', 'json', 'schema'",
    ),
    (
        "tail -b 127.0.0.1:1 t --value-format nope",
        "'nope' is not one of 'auto', 'text', 'json', 'schema'",
    ),
    (
        "tail -b 127.0.0.1:1 t --isolation nope",
        "'nope' is not one of 'read_committed', 'read_uncommitted'.",
    ),
    ("tail -b 127.0.0.1:1 t --resume-file folder", "folder is a folder, not a file"),
    (
        "tail -b 127.0.0.1:1 t --resume-file text",
        "text (--resume-file): it holds hello world: names of topics have letters",
    ),
    ("tail -b 127.0.0.1:1 t --resume-file TMP/no/x", "there is no folder TMP/no"),
    ("tail -b 127.0.0.1:1 t:x", "x (TOPIC): expected partitions such as 0,3,5-7 or 0@120"),
    ("tail -b 127.0.0.1:1 t:0@x", "x (--offset): no offset; write beginning, end, 42, +42"),
    ("latency", "bootstrap.servers (not set): give -b HOST:PORT"),
    ("latency -b 127.0.0.1:1 --acks 2", "'2' is not one of 0, 1 and all"),
    ("latency -b 127.0.0.1:1 --rate 0", "'0' has no unit; write 0/s"),
    ("latency -b 127.0.0.1:1 --rate x", "'x' is not a rate; write one such as 100/s or 30/m"),
    (
        "latency -b 127.0.0.1:1 --duration x",
        "'x' is not a duration; write one such as 500ms, 10s or",
    ),
    ("latency -b 127.0.0.1:1 --duration 0", "'0' is not longer than zero; write 500ms or 10s"),
    ("latency -b 127.0.0.1:1 --num-records 0", "0 is not in the range x>=1."),
    ("latency -b 127.0.0.1:1 --size x", "'x' is not a size; write one such as 4096, 64K, 10MiB or"),
    (
        "latency -b 127.0.0.1:1 --size 100G",
        "requests of 107374182400 bytes are too large: 67108864 at",
    ),
    (
        "latency -b 127.0.0.1:1 --write-to-topic",
        "name the topic that may be written to with --topic",
    ),
    ("latency -b 127.0.0.1:1 --read-only", "name the topic to fetch from with --topic"),
    ("latency -b 127.0.0.1:1 -t t --write-to-topic --read-only", "it contradicts --write-to-topic"),
    ("latency -b 127.0.0.1:1 --broker x", "'x' is not a valid int."),
    ("latency -b 127.0.0.1:1 --html TMP/no/x.html", "there is no folder TMP/no"),
    ("latency -b 127.0.0.1:1 --html folder", "folder is a folder, not a file"),
    (
        "latency -b 127.0.0.1:1 --min-bytes x",
        "'x' is not a size; write one such as 4096, 64K, 10MiB or",
    ),
    (
        "latency -b 127.0.0.1:1 --max-wait x",
        "'x' is not a duration; write one such as 500ms, 10s or",
    ),
    (
        "latency -b 127.0.0.1:1 --max-bytes x",
        "'x' is not a size; write one such as 4096, 64K, 10MiB or",
    ),
    ("latency -b 127.0.0.1:1 --batch-records 0", "0 is not in the range x>=1."),
    (
        "latency -b 127.0.0.1:1 --warm-up x",
        "'x' is not a duration; write one such as 500ms, 10s or",
    ),
    ("latency -b 127.0.0.1:1 --num-headers -1", "-1 is not in the range x>=0."),
    ("latency -b 127.0.0.1:1 extra", "Got unexpected extra argument(s) (extra)"),
    ("tune-buffers", "bootstrap.servers (not set): give -b HOST:PORT"),
    ("tune-buffers nosuch.pcap", "nosuch.pcap: cannot be opened: No such file or directory"),
    ("tune-buffers text", "text, byte 0: is neither pcap nor pcapng, it starts with"),
    ("tune-buffers empty", "empty: is empty: nothing was recorded, or nothing is"),
    (
        "tune-buffers acks.pcap -b 127.0.0.1:1",
        "captures go with neither -b, --topic nor --html: these",
    ),
    ("tune-buffers acks.pcap --rate x", "'x' is not a rate; write one such as 1Gbit, 200Mbit or"),
    ("tune-buffers -b 127.0.0.1:1 --rate 0", "'0' has no unit; write 0Mbit or 0MB/s"),
    (
        "tune-buffers -b 127.0.0.1:1 --rate x",
        "'x' is not a rate; write one such as 1Gbit, 200Mbit or",
    ),
    ("tune-buffers -b 127.0.0.1:1 --rtt 0ms", "a round trip takes time; auto measures it"),
    (
        "tune-buffers -b 127.0.0.1:1 --rtt x",
        "'x' is not a duration; write one such as 500ms, 10s or",
    ),
    (
        "tune-buffers -b 127.0.0.1:1 --sizes x",
        "'x' is not a size; write one such as 4096, 64K, 10MiB or",
    ),
    (
        "tune-buffers -b 127.0.0.1:1 --sizes 1",
        "'1' cannot be a buffer's size: between 4K and 1G, or auto",
    ),
    (
        'tune-buffers -b 127.0.0.1:1 --sizes ""',
        "'' is not a size; write one such as 4096, 64K, 10MiB or",
    ),
    (
        "tune-buffers -b 127.0.0.1:1 --sizes 64k,,1m",
        "'' is not a size; write one such as 4096, 64K, 10MiB or",
    ),
    ("tune-buffers -b 127.0.0.1:1 --rounds 0", "0 is not in the range 1<=x<=100."),
    ("tune-buffers -b 127.0.0.1:1 --seconds 0", "'0' is not between 0.1 and 60 seconds"),
    ("tune-buffers -b 127.0.0.1:1 --seconds 100", "'100' is not between 0.1 and 60 seconds"),
    (
        "tune-buffers -b 127.0.0.1:1 --max-bytes x",
        "'x' is not a size; write one such as 4096, 64K, 10MiB or",
    ),
    (
        "tune-buffers -b 127.0.0.1:1 --write-to-topic",
        "name the topic that may be written to with --topic",
    ),
    ("tune-buffers -b 127.0.0.1:1 --html TMP/no/x.html", "there is no folder TMP/no"),
)


@for_each(("line", "words"), LIVE, ids=[line for line, _ in LIVE])
def test_wrong_usage_is_told_in_one_line(line: str, words: str, folder: Path) -> None:
    """On stderr; the program has done nothing."""
    assert_refused(line, words, folder)
