"""Wrong inputs of commands that need no cluster.

Each ends with 2 and one line, which says what would be right; nothing is printed, and nothing left.
acks.pcap stands for that capture, TMP for the folder.
"""

from pathlib import Path
from typing import Final

import pytest

from programs.complaint import assert_refused
from tiers.sampling import IS_CI

OFFLINE: Final = (
    ("nosuch", "no command 'nosuch'; kdiag --help lists them"),
    ("--nosuch", "No such option: --nosuch"),
    ("decode", "give captures to read, or --live IFACE"),
    ("decode nosuch.pcap", "nosuch.pcap: cannot be opened: No such file or directory"),
    ("decode empty", "empty: is empty: nothing was recorded, or nothing is"),
    ("decode text", "text, byte 0: is neither pcap nor pcapng, it starts with"),
    ("decode bad.gz", "bad.gz, byte 0: cannot be read any further: Error -3"),
    ("decode folder", "folder: holds no capture file"),
    ("decode acks.pcap --api Nope", "no API is called 'Nope'; did you mean Envelope?"),
    ('decode acks.pcap --api ""', "no API is called ''; names are as Fetch"),
    ("decode acks.pcap --show 0", "0 is not in the range x>=1."),
    ("decode acks.pcap --show x", "'x' is not a valid int range."),
    ("decode acks.pcap --show 9999", "there is no exchange 9999: the capture has 24 exchanges"),
    ("decode acks.pcap --explain 9999", "there is no exchange 9999: the capture has 24 exchanges"),
    ("decode acks.pcap --show 1 --explain 1", "choose one of --summary, --show and --explain"),
    ("decode acks.pcap -o nope", "'nope' is not one of 'text', 'jsonl', 'json', 'csv'"),
    ("decode acks.pcap -o parquet", "--output parquet needs a folder: --out DIR"),
    ("decode acks.pcap --out x", "is for --output parquet"),
    ("decode acks.pcap -o parquet --out text", "text: cannot be written: File exists"),
    ("decode acks.pcap --no-bodies", "is for --output parquet"),
    ("decode acks.pcap --status nope", "no status is called 'nope'; they are malformed, partial"),
    ("decode acks.pcap --since never", "'never' is not a moment; write 2026-01-15"),
    ("decode acks.pcap --until never", "'never' is not a moment; write 2026-01-15"),
    (
        "decode acks.pcap --min-latency fast",
        "'fast' is not a duration; write one such as 500ms, 10s or",
    ),
    (
        "decode acks.pcap --min-latency -1s",
        "'-1s' is not a duration; write one such as 500ms, 10s or",
    ),
    ('decode acks.pcap --where "("', "expected a column or a value, not the end"),
    ('decode acks.pcap --where "nope = 1"', "unknown column nope"),
    ('decode acks.pcap --where "1; drop table x"', "is not understood"),
    ("decode acks.pcap --port 0", "0 is not in the range 1<=x<=65535."),
    ("decode acks.pcap --port 70000", "70000 is not in the range 1<=x<=65535."),
    ("decode acks.pcap --port x", "'x' is not a valid int range."),
    ("decode acks.pcap --time nope", "or a name such as Europe/Berlin, or relative or delta"),
    ("decode acks.pcap --error NOPE", "no error is called 'NOPE'; did you mean NONE?"),
    ("decode acks.pcap --max-frame 0", "no frame is as small"),
    ("decode acks.pcap --max-frame big", "'big' is not a size; write one such as 4096, 64K, 10MiB"),
    (
        "decode acks.pcap --max-memory 1x",
        "'1x' is not a size; write one such as 4096, 64K, 10MiB or",
    ),
    ("decode acks.pcap --keylog nosuch", "nosuch: cannot be opened: No such file or directory"),
    ("decode acks.pcap --keylog text", "text: holds no TLS secret: give the file that"),
    ("decode acks.pcap --topic-ids nosuch", "nosuch: No such file or directory"),
    ("decode acks.pcap --topic-ids text", "text, line 1: expected a topic id, a space and a name"),
    ("decode acks.pcap --decode-as nope", "'nope' is not udp:PORT=NAME, such as udp:8473=vxlan"),
    (
        "decode acks.pcap --decode-as udp:1=nope",
        "'udp:1=nope': there are geneve, gre, gtpu, mpls, vxlan",
    ),
    (
        "decode acks.pcap --decode-as tcp:1=vxlan",
        "'tcp:1=vxlan' is not udp:PORT=NAME, such as udp:8473=vxlan",
    ),
    ("decode acks.pcap --write acks.pcap", "acks.pcap is one of the inputs"),
    ("decode acks.pcap --write TMP/no/such/x.pcap", "there is no folder TMP/no/such"),
    ("decode acks.pcap --write folder", "folder is a folder, not a file"),
    ("decode acks.pcap --live lo", "give captures to read, or --live IFACE"),
    ('decode acks.pcap --filter "tcp"', "is for --live; --where chooses exchanges"),
    ("decode acks.pcap --promiscuous", "is for --live; --where chooses exchanges"),
    ("decode acks.pcap --color nope", "'nope' is not one of 'auto', 'always', 'never'."),
    ("decode acks.pcap --nope", "No such option: --nope (Possible options: --"),
    ("decode acks.pcap --summary --show 1", "choose one of --summary, --show and --explain"),
    ("decode acks.pcap --summary -o csv", "--output csv lists exchanges; the rest is text or JSON"),
    ("query", "Missing argument 'CAPTURE... SQL'."),
    ("query acks.pcap", "give captures and then a SELECT"),
    (
        'query acks.pcap "select nope from exchanges"',
        'query: Binder Error: Referenced column "nope" not found',
    ),
    ('query acks.pcap "selec 1"', 'query: Parser Error: syntax error at or near "selec"'),
    ('query acks.pcap ""', "query: expected one SELECT: a query reads the tables and"),
    (
        'query acks.pcap "select 1 from nope"',
        "query: there is no table nope: kdiag tables lists the",
    ),
    ('query nosuch.pcap "select 1"', "nosuch.pcap: cannot be opened: No such file or directory"),
    (
        'query acks.pcap "drop table exchanges"',
        "query: expected one SELECT: a query reads the tables and",
    ),
    (
        "query acks.pcap \"copy exchanges to 'TMP/leak.csv'\"",
        "query: expected one SELECT: a query reads the tables and",
    ),
    ('query acks.pcap "select 1" -o nope', "'nope' is not one of 'table', 'json', 'jsonl', 'csv'."),
    (
        'query text "select 1 from exchanges"',
        "text, byte 0: is neither pcap nor pcapng, it starts with",
    ),
    (
        "query acks.pcap \"select * from read_csv('/etc/passwd')\"",
        'query: Permission Error: Cannot access file "/etc/passwd"',
    ),
    ("report", "name a report, or --list them"),
    ("report nope acks.pcap", "report nope: there is no such report; there are clients"),
    ("report errors", "give captures or a folder of tables"),
    ("report errors nosuch.pcap", "nosuch.pcap: cannot be opened: No such file or directory"),
    ("report errors acks.pcap -p nope", "'nope' is not key=value"),
    ("report errors acks.pcap -p a=b", "report errors: has no parameter a (has api)"),
    ("report errors acks.pcap -o nope", "'nope' is not one of 'table', 'json', 'jsonl', 'csv'."),
    ("report errors text", "text, byte 0: is neither pcap nor pcapng, it starts with"),
    ("report errors empty", "empty: is empty: nothing was recorded, or nothing is"),
    ("report --nope", "No such option: --nope"),
    ("report --sql nope", "'nope' is not one of 'duckdb', 'spark'."),
    ("tables nope", "unknown table 'nope'; there are exchanges, batches"),
    ("tables -o nope", "'nope' is not one of 'table', 'json'."),
    ("tables exchanges extra", "unknown table 'extra'; there are exchanges, batches"),
    ("errcode NOPE", "no error is called 'NOPE'; did you mean NONE or _NOOP or"),
    ("errcode 99999", "no error is called '99999': kdiag errcode lists all"),
    ('errcode ""', "no error is called '': kdiag errcode lists all"),
    ("errcode 3 -o nope", "'nope' is not one of 'table', 'json'."),
    ("errcode --nope", "no error is called '--nope'; did you mean _NOOP or _NOENT"),
    ("config nope", "No such command 'nope'."),
    ("config show --nope", "No such option: --nope"),
    ("config show -X nope", "-X: expected key=value"),
    ("config show --config nosuch.properties", "nosuch.properties: No such file or directory"),
    ("config show --config folder", "folder: Is a directory"),
    ("config show -o nope", "'nope' is not one of 'table', 'json'."),
    ("config import", "Missing argument 'FILE'."),
    ("config import nosuch", "nosuch: No such file or directory"),
    ("config import text", "text:1: expected key=value"),
    ("config import folder", "folder: Is a directory"),
    ("config import empty", "empty: holds no setting of a client"),
    ("config import bad.toml", "bad.toml: expected TOML: Invalid statement (at line 1"),
    ("completion", "Missing argument 'shell'. Choose from"),
    ("completion nope", "'nope' is not one of 'bash', 'zsh', 'fish', 'man'."),
    ("completion bash zsh", "DIR is needed for man, and for no shell"),
    ("help nope", "no topic, command or finding has 'nope'; the topics: buffers"),
    ("help a b", "Got unexpected extra argument(s) (b)"),
    ("help KD9999", "no topic, command or finding has 'KD9999'; the topics: buffers"),
    ("help --nope", "No such option: --nope"),
    ("pipeline nope", "No such command 'nope'."),
    ("pipeline run", "Missing argument 'CAPTURE...'."),
    ("pipeline run nosuch --out TMP/o", "nosuch: cannot be opened: No such file or directory"),
    ("pipeline run acks.pcap", "Missing option '--out'."),
    ("pipeline run acks.pcap --out TMP/o --split-mb 0", "'0' is not between 1M and 1G"),
    (
        "pipeline run acks.pcap --out TMP/o --from never",
        "'never' is not a moment; write 2026-01-15",
    ),
    ("pipeline run acks.pcap --out TMP/o --conf nope", "'nope' is not key=value"),
    ("pipeline stream", "Missing argument 'IN_DIR'."),
    ("pipeline stream nosuch --out TMP/o", "Missing option '--checkpoint'."),
    (
        "pipeline stream folder --out TMP/o --checkpoint TMP/c --every x",
        "'x' is not a duration; write one such as 500ms, 10s or",
    ),
    ("pipeline report", "Missing argument 'name'."),
    ("pipeline report nope TMP/x", "report nope: there is no such report; there are clients"),
)


@pytest.mark.parametrize(("line", "words"), OFFLINE, ids=[line for line, _ in OFFLINE])
def test_wrong_usage_is_told_in_one_line(line: str, words: str, folder: Path) -> None:
    """On stderr; the program has done nothing."""
    if line.startswith("pipeline run nosuch") and not IS_CI:
        pytest.importorskip("pyspark")
    assert_refused(line, words, folder)
