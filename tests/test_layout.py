"""The shape of the repository itself."""

import ast
import os
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from folders import ROOT

TOP_LEVEL = {
    ".ci",
    ".github",
    ".gitignore",
    ".pre-commit-config.yaml",
    "CHANGELOG.md",
    "LICENSE",
    "README.md",
    "captures",
    "cmd",
    "kdiag",
    "pyproject.toml",
    "tests",
}
MIRRORED = {
    "kdiag": "tests/kdiag",
    "cmd/kdiag_cli": "tests/kdiag_cli",
    "cmd/kdiag_schema": "tests/kdiag_schema",
}
FROM_SCHEMAS = ("kdiag/wire/api/", "kdiag/wire/internal/")
"""Message classes made from Kafka's schemas: as long as those are, tested by the vectors."""
VAGUE = {"base", "common", "core", "helper", "helpers", "manager", "misc", "util", "utils"}
MAX_LINES = {"kdiag": 600, "cmd": 600, "tests": 800}
MAX_ENTRIES = 15
OF_ONE_KIND = {"cmd/kdiag_cli/commands", "tests/kdiag_cli/commands"}
"""Folders whose entries are all of one kind: they may have more."""
MAX_ATTRIBUTES = 12
MAX_METHODS = 25
LARGE = {
    "AbstractCoordinator": (10, 31),
    "BrokerAssignedMember": (14, 22),
    "BrokerServer": (17, 16),
    "CaptureDecoder": (23, 35),
    "CaptureReader": (13, 14),
    "Channel": (16, 24),
    "ClassicGroup": (12, 34),
    "ClassicRebalance": (3, 26),
    "ClusterClient": (9, 29),
    "ClusterConnectionStates": (4, 28),
    "ConsumerMembershipManager": (16, 27),
    "ConsumerNetworkClient": (11, 30),
    "ExchangeCollector": (13, 4),
    "ExchangePipeline": (16, 10),
    "Flow": (18, 46),
    "FrameStream": (16, 17),
    "GeneralAssignment": (13, 18),
    "GroupMetadata": (16, 37),
    "GroupTail": (18, 23),
    "LogSegment": (11, 30),
    "Matcher": (16, 28),
    "NetworkClient": (13, 49),
    "OffsetCommits": (13, 25),
    "PacketIndex": (14, 8),
    "PartitionLog": (12, 30),
    "ProbeMember": (15, 17),
    "Processor": (15, 30),
    "ProxyRelay": (13, 27),
    "QuorumController": (10, 26),
    "Reassembly": (15, 26),
    "SaslAuthenticator": (16, 15),
    "SaslServerAuthenticator": (18, 18),
    "Selector": (14, 37),
    "SortedBatch": (20, 20),
    "Summary": (14, 17),
    "TcpDirectionTracker": (17, 14),
    "TlsDirection": (14, 14),
    "TlsTransport": (11, 32),
    "TransactionCoordinator": (8, 33),
    "_Blocks": (14, 15),
    "_Parser": (5, 27),
    "_Walker": (14, 4),
}
"""Classes with more attributes or methods than that, and how many of each: a list that shrinks."""
MIN_LINES = 40
SHORT = {
    "kdiag/__main__.py": "it hands over to the program",
    "kdiag/lab/api/groups/consumer_group_heartbeat.py": "an API has a module of its name",
    "kdiag/lab/api/configs/alter_client_quotas.py": "likewise",
    "kdiag/lab/api/security/create_acls.py": "likewise",
    "kdiag/lab/api/security/delete_acls.py": "likewise",
    "kdiag/lab/api/security/describe_acls.py": "likewise",
    "kdiag/lab/api/security/sasl_authenticate.py": "likewise",
    "kdiag/lab/api/security/sasl_handshake.py": "likewise",
    "kdiag/lab/security/private_file.py": "a lab says of a setting what `open_new` says of a file",
    "cmd/kdiag_cli/__main__.py": "what begins before anything else is loaded loads nothing else",
}
"""Modules of fewer lines than `MIN_LINES`, each with the reason why it stands alone."""
OWN = re.compile(r"\bself\.(\w+)")
CLASS = re.compile(r"^class (\w+)", re.MULTILINE)
MEASURED_OR_EXTRA = re.compile(r"# noqa: PLC0415 - (.*(\d ms|extra)|as above)")
"""What a function-level import says of itself: what it spares, or which extra it belongs to."""
HEAVY = {"cryptography", "duckdb", "numpy", "pyarrow", "pyspark", "scapy", "vl_convert"}


def python_files(*folders: str) -> Iterator[Path]:
    """Return the Python files below some folders, as paths from the root."""
    for folder in folders:
        for path in (ROOT / folder).rglob("*.py"):
            yield path.relative_to(ROOT)


def is_from_schemas(path: Path) -> bool:
    """Return whether a file holds message classes made from Kafka's schemas."""
    return path.as_posix().startswith(FROM_SCHEMAS)


@pytest.mark.thorough
def test_the_top_level_holds_only_what_everybody_knows_to_look_for(
    require_programs: Callable[..., None],
) -> None:
    """Nothing is committed at the top level but the listed names."""
    require_programs("git")
    command = ["git", "-C", str(ROOT), "ls-tree", "--name-only", "HEAD"]
    listed = subprocess.run(command, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    assert set(listed.stdout.split()) - TOP_LEVEL == set()


@pytest.mark.thorough
def test_a_folder_reads_as_a_table_of_contents() -> None:
    """It has at most 15 entries besides its doors, and what is made from Kafka's schemas."""
    entries = defaultdict(set)
    for path in python_files("kdiag", "cmd", "tests"):
        if is_from_schemas(path):
            continue
        for entry in (path, *path.parents):
            if entry.stem not in {"__init__", "__main__"} and entry != Path():
                entries[entry.parent.as_posix()].add(entry.name)
    counts = {folder: len(names) for folder, names in entries.items()}
    many = {folder for folder, count in counts.items() if count > MAX_ENTRIES}
    assert many - OF_ONE_KIND == set()


def class_sizes() -> Iterator[tuple[str, int, int]]:
    """Yield each class that may be large: its name, the attributes it sets, its methods."""
    for path in python_files("kdiag", "cmd"):
        text = (ROOT / path).read_text(encoding="utf-8")
        is_small = (
            text.count(" def ") <= MAX_METHODS and len({*OWN.findall(text)}) <= MAX_ATTRIBUTES
        )
        if is_small or is_from_schemas(path):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                methods = [each for each in node.body if isinstance(each, ast.FunctionDef)]
                yield node.name, len({*set_on_self(methods)}), len(methods)


def set_on_self(methods: list[ast.FunctionDef]) -> Iterator[str]:
    """Yield the names of the attributes that methods set."""
    for node in (each for method in methods for each in ast.walk(method)):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name, ctx=ast.Store()):
                yield name


@pytest.mark.thorough
def test_a_class_is_one_life() -> None:
    """It has at most 12 attributes and 25 methods; what has more grows no further."""
    large = {
        name: (attributes, methods)
        for name, attributes, methods in class_sizes()
        if attributes > MAX_ATTRIBUTES or methods > MAX_METHODS
    }
    assert large == LARGE, "a class that has become smaller has a smaller entry here, or none"


@pytest.mark.thorough
def test_a_module_holds_a_whole_idea() -> None:
    """Hand-written modules under 40 lines are listed with their reasons, and no others."""
    short = {
        path.as_posix()
        for path in python_files("kdiag", "cmd")
        if path.stem != "__init__" and not is_from_schemas(path)
        if len((ROOT / path).read_text(encoding="utf-8").splitlines()) < MIN_LINES
    }
    assert short == set(SHORT)


@pytest.mark.thorough
def test_a_class_name_means_one_thing() -> None:
    """No two hand-written modules define classes of the same name."""
    modules = defaultdict(list)
    for path in python_files("kdiag", "cmd"):
        if is_from_schemas(path):
            continue
        for name in CLASS.findall((ROOT / path).read_text(encoding="utf-8")):
            modules[name].append(path.as_posix())
    assert {name: paths for name, paths in modules.items() if len(paths) > 1} == {}


@pytest.mark.thorough
def test_imports_stand_at_the_top() -> None:
    """An import inside a function says which extra it belongs to, or how long it takes."""
    unexplained = [
        f"{path}: {line.strip()}"
        for path in python_files("kdiag", "cmd")
        for line in (ROOT / path).read_text(encoding="utf-8").splitlines()
        if "noqa: PLC0415" in line and not MEASURED_OR_EXTRA.search(line)
    ]
    assert unexplained == []


def test_cmd_is_not_a_package_and_holds_no_tests() -> None:
    """A package named `cmd` would shadow the standard library's and break `pdb`."""
    assert not (ROOT / "cmd" / "__init__.py").exists()
    assert [path for path in python_files("cmd") if path.name.startswith("test_")] == []


@pytest.mark.thorough
def test_every_file_can_be_read_in_one_sitting() -> None:
    """No module written by hand is longer than 600 lines, and no file of tests than 800."""
    lengths = {
        path: len((ROOT / path).read_text(encoding="utf-8").splitlines())
        for path in python_files(*MAX_LINES)
        if not is_from_schemas(path)
    }
    assert {
        path: lines for path, lines in lengths.items() if lines > MAX_LINES[path.parts[0]]
    } == {}


@pytest.mark.parametrize(("source", "tests"), MIRRORED.items())
def test_every_package_has_its_tests_and_every_folder_of_tests_its_package(
    source: str, tests: str
) -> None:
    """What is in `a/` is tested in `a/` below `tests`, and by looking there one finds it."""
    packages = {
        path.relative_to(source).parent
        for path in python_files(source)
        if path.stem not in {"__init__", "__main__"} and not is_from_schemas(path)
    }
    tested = {
        path.relative_to(tests).parent for path in python_files(tests) if path.stem != "conftest"
    }
    assert packages - tested == set(), "packages without tests"
    assert {each for each in tested if not (ROOT / source / each).is_dir()} == set()


@pytest.mark.thorough
def test_names_tell_what_is_inside() -> None:
    """No module or folder has a name that could hold anything."""
    parts = {
        part.removesuffix(".py").removeprefix("test_")
        for path in python_files("kdiag", "cmd", "tests")
        if not is_from_schemas(path)
        for part in path.parts
    }
    assert parts & VAGUE == set()


def test_a_package_imports_nothing_by_itself() -> None:
    """`import kdiag.wire` costs nothing: `__init__.py` imports nothing, `kdiag`'s when asked.

    PySpark looks for a data source in `pyspark_kdiag` itself; none of our modules imports that.
    """
    importing = [
        path
        for path in python_files("kdiag", "cmd")
        if path.name == "__init__.py" and path.parent.name not in {"kdiag", "pyspark_kdiag"}
        for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8")))
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert importing == []


def loaded_by(*arguments: str) -> set[str]:
    """Return the modules that a run of kdiag has loaded when it ends."""
    program = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('loaded:', *sys.modules))\n"
        "from kdiag_cli.__main__ import main\n"
        f"sys.argv = {['kdiag', *arguments]}\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    _, _, loaded = done.stdout.partition("loaded: ")
    return set(loaded.split())


@pytest.mark.thorough
def test_the_front_door_of_the_library_imports_nothing() -> None:
    """`import kdiag` loads one module, whatever `__all__` offers."""
    program = "import sys; before = {*sys.modules}; import kdiag; print(*{*sys.modules} - before)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["kdiag"]


@pytest.mark.thorough
def test_help_imports_no_heavy_library() -> None:
    """`kdiag --help` answers at once because it loads neither numpy nor anything as large."""
    loaded = loaded_by("--help")
    assert "typer" in loaded
    assert HEAVY & loaded == set()


@pytest.mark.thorough
def test_what_a_table_needs_reads_no_records() -> None:
    """A command that only looks something up loads no codec: that was a quarter of its time."""
    loaded = loaded_by("errcode", "3")
    assert "kdiag_cli.output.table.printer" in loaded
    assert {"cramjam", "lz4", "zstandard", "kdiag.wire.records.batch"} & loaded == set()


@pytest.mark.soak
def test_where_spark_is_missing_its_tests_are_left_out() -> None:
    """Without the extra `dev`, as after the README's commands."""
    program = (
        "import sys, pytest; sys.modules['pyspark'] = None;"
        "sys.exit(pytest.main(['--collect-only', '-qq', 'tests/kdiag/pipeline']))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stdout
