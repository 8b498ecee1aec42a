"""The wheel and the sdist are built, installed into fresh environments, and used there.

Also with the other interpreters that the machine has.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from folders import CAPTURES, ROOT
from kdiag.report.capture import open_capture
from programs.interpreters import find_interpreter
from tiers.sampling import IS_EXHAUSTIVE

pytestmark = pytest.mark.soak

PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TOPIC = ROOT / "cmd" / "kdiag_cli" / "help" / "library" / "library.md"
CAPTURE = str(CAPTURES / "produce_consume_group.pcap")
IMPORT_EVERYTHING = """\
import importlib, pkgutil, kdiag, kdiag_cli
for package in (kdiag, kdiag_cli):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        if "pipeline" not in module.name and "plugin" not in module.name:  # no Spark, no pytest
            importlib.import_module(module.name)
"""
OTHER_PYTHONS = [each for each in ("3.12", "3.13", "3.14") if each != f"3.{sys.version_info[1]}"]
FOUND_PYTHONS = [each for each in OTHER_PYTHONS if find_interpreter(each)] or OTHER_PYTHONS
TESTERS = re.compile(r"(pytest|hypothesis|cryptography)\b.*")
"""What the tests below need to run."""

OF_PYTHON = (
    "kdiag/client/network",
    "kdiag/net/sasl/test_identity_provider.py::test_a_provider_is_trusted_by_its_certificate",
    "kdiag/net/tls",
    "kdiag/wire/codec/test_decoder.py",
    "kdiag/wire/codec/test_encoder.py",
    "kdiag/wire/codec/test_json_form.py",
    "kdiag_cli/options/test_help_page.py",
    "kdiag_cli/options/test_live_command.py",
)
"""Tests of what depends on Python most: TLS, code that is compiled, typer's options."""

SIGN = """\
import os
os.environ |= {"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"}
from kdiag.net.sasl.aws_iam import AwsMskIam, AwsSigner
assert b"x-amz-signature" in next(AwsMskIam(AwsSigner(region="eu-west-1"), "kafka1").tokens())
"""


def lowest(extras: tuple[str, ...]) -> Iterator[str]:
    """Yield the requirements with the lowest version that each allows."""
    for each in (
        *PROJECT["dependencies"],
        *(dependency for name in extras for dependency in PROJECT["optional-dependencies"][name]),
    ):
        if found := re.match(r"([\w-]+)>=([\d.]+)", each):
            yield f"{found[1]}=={found[2]}"


def run(*command: object, folder: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    """Run a program outside the repository; it ends with this exit code."""
    done = subprocess.run(
        list(map(str, command)),
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder)},
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


class Environment:
    """A virtual environment of its own."""

    def __init__(
        self, folder: Path, *requirements: str, python: Path = Path(sys.executable)
    ) -> None:
        self.folder = folder
        subprocess.run([str(python), "-m", "venv", "--without-pip", str(folder)], check=True)
        if requirements:
            self.install(*requirements)

    def install(self, *requirements: str) -> None:
        """Install packages."""
        self.pip("install", "-q", "--no-compile", *requirements)

    def pip(self, *arguments: object) -> None:
        """Run the pip of these tests on the environment, which then needs none of its own."""
        python = self.folder / "bin" / "python"
        command = [sys.executable, "-m", "pip", "--python", python, *arguments]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    def run(self, program: str, *arguments: object, code: int = 0) -> str:
        """Run a program that is installed here, and return what it prints on both streams."""
        done = run(self.folder / "bin" / program, *arguments, folder=self.folder, code=code)
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("packages")
    builder = Environment(folder / "builder", "hatchling")
    build = [str(builder.folder / "bin" / "hatchling"), "build", "-d", str(folder)]
    subprocess.run(build, check=True, cwd=ROOT, capture_output=True)
    [wheel], [sdist] = folder.glob("*.whl"), folder.glob("*.tar.gz")
    again = folder / "again"
    builder.pip("wheel", "--no-deps", "--no-build-isolation", "-q", "-w", again, sdist)
    return wheel, again / wheel.name


@pytest.mark.real
def test_both_hold_every_file_of_the_program(packages: tuple[Path, Path]) -> None:
    """A wheel that is made of the sdist is the same; SQL, help and scripts are in both."""
    names = [sorted(zipfile.ZipFile(each).namelist()) for each in packages]
    commands = ROOT / "cmd"
    files = [
        path.relative_to(folder).as_posix()
        for folder, package in (
            (ROOT, "kdiag"),
            (commands, "kdiag_cli"),
            (commands, "pyspark_kdiag"),
        )
        for path in (folder / package).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    ]

    assert names[0] == names[1]
    assert set(files) <= set(names[0])
    assert "kdiag/py.typed" in names[0]


def test_what_is_installed_works(packages: tuple[Path, Path], tmp_path: Path) -> None:
    """The script, the module and, checked by mypy in strict mode, the library's examples."""
    environment = Environment(tmp_path, str(packages[0]))

    assert environment.run("kdiag", "--version") == environment.run(
        "python", "-m", "kdiag", "--version"
    )
    assert "JoinGroup" in environment.run("kdiag", "decode", CAPTURE)
    lacking = environment.run("kdiag", "report", "clients", CAPTURE, code=2)
    assert "bin/pip install " in lacking
    assert lacking.endswith(".whl[report]'\n")

    environment.install(f"{packages[0]}[report]", "mypy")
    assert "order-reader" in environment.run("kdiag", "report", "clients", CAPTURE)
    examples = re.findall(r"^```python\n(.*?)^```$", TOPIC.read_text(), re.DOTALL | re.MULTILINE)
    for number, example in enumerate(examples):
        file = tmp_path / f"example_{number}.py"
        file.write_text(example.replace("captures/", f"{CAPTURES}/"))
        assert "Success" in environment.run("mypy", "--strict", file)
        if "localhost" not in example:
            assert environment.run("python", file)


TRAVELLER = """\
import sys
from kdiag.pipeline.job import Job
from kdiag.pipeline.run import run
from kdiag.pipeline.session import open_session
capture, out = sys.argv[1:]
session = open_session()
tasks = session.sparkContext.parallelize(range(2), 2)
places = set(tasks.map(lambda _: __import__("kdiag").__file__).collect())
print(run(session, Job((capture,), out)).rows["exchanges"], *places)
"""


def test_the_wheel_travels_to_workers_that_lack_kdiag(
    packages: tuple[Path, Path], tmp_path: Path
) -> None:
    """As `kdiag help fleet` tells; they have the libraries that it needs."""
    from spark_runs.class_archive import java_options  # noqa: PLC0415 - as above
    from spark_runs.spark_cluster import SPARK_HOME, spark_cluster  # noqa: PLC0415 - as above

    bare = Environment(tmp_path / "bare")
    site = bare.folder / "lib" / f"python3.{sys.version_info[1]}" / "site-packages"
    (site / "libraries.pth").write_text("\n".join(path for path in sys.path if "-packages" in path))
    assert "No module named 'kdiag'" in bare.run("python", "-c", "import kdiag", code=1)
    shutil.copy(packages[0], tmp_path / "kdiag.zip")
    (tmp_path / "run.py").write_text(TRAVELLER)
    python = str(bare.folder / "bin" / "python")
    conf = {"spark.driver.host": "127.0.0.1", "spark.driver.memory": "1g"}
    conf |= {f"spark.{each}.extraJavaOptions": java_options() for each in ("driver", "executor")}
    settings = [f"--conf={key}={value}" for key, value in conf.items()]
    (tmp_path / "cluster").mkdir()
    with spark_cluster(tmp_path / "cluster", 2) as cluster:
        submit = [SPARK_HOME / "bin" / "spark-submit", "--master", cluster.master, *settings]
        submit += ["--executor-memory=1g", "--py-files", tmp_path / "kdiag.zip"]
        done = subprocess.run(
            [*map(str, submit), str(tmp_path / "run.py"), CAPTURE, str(tmp_path / "out")],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={
                "PATH": os.environ["PATH"],
                "PYSPARK_PYTHON": python,
                "SPARK_LOCAL_IP": "127.0.0.1",
            },
        )
    assert done.returncode == 0, done.stderr[-4000:]
    rows, *places = done.stdout.split()

    assert int(rows) == len(list(open_capture(CAPTURE)))
    assert all("kdiag.zip" in each for each in places)


@pytest.mark.sampled(1)
@pytest.mark.parametrize("minor", FOUND_PYTHONS)
def test_what_is_installed_works_with_other_pythons(
    packages: tuple[Path, Path], minor: str, tmp_path: Path
) -> None:
    """README's first example, and the tests of what depends on Python most."""
    python = find_interpreter(minor)
    if python is None:
        pytest.skip(f"this machine has no Python {minor}")
    testers = filter(TESTERS.fullmatch, PROJECT["optional-dependencies"]["test"])
    environment = Environment(tmp_path, str(packages[0]), *testers, python=python)

    assert environment.run("python", "--version").startswith(f"Python {minor}.")
    assert "JoinGroup" in environment.run("kdiag", "decode", CAPTURE)
    assert "commands in" in environment.run("kdiag", "demo")
    settings = ("-c", ROOT / "pyproject.toml", "--rootdir", ROOT, "-p", "no:cacheprovider")
    environment.run("pytest", *settings, *(ROOT / "tests" / each for each in OF_PYTHON))


def test_a_project_of_somebody_else_is_tested_with_labs(
    packages: tuple[Path, Path], tmp_path: Path
) -> None:
    """The plugin is found by itself; a test that fails shows what crossed the wire."""
    project = tmp_path / "order_service"
    shutil.copytree(ROOT / "tests" / "interop" / "lab" / "order_service", project)
    environment = Environment(tmp_path / "env", f"{packages[0]}[pytest]")
    environment.install(str(project))

    assert "4 passed" in environment.run("pytest", "-q", project)
    checks = project / "check_orders.py"
    checks.write_text(checks.read_text().replace("times=2", "times=1"))
    output = environment.run("pytest", "-q", project, code=1)
    assert "Exchanges of kafka_lab" in output
    assert "NOT_ENOUGH_REPLICAS" in output
    environment.run("python", "-c", "import kdiag, sys; assert 'pytest' not in sys.modules")


@pytest.mark.skipif(not IS_EXHAUSTIVE, reason="KDIAG_EXHAUSTIVE=1 installs the lowest versions")
def test_the_lowest_versions_of_everything_are_enough(
    packages: tuple[Path, Path], tmp_path: Path
) -> None:
    """What `pyproject.toml` promises: every module loads, tables are made, records unpacked."""
    extras = ("aws", "html", "latency", "report", "scapy")
    environment = Environment(tmp_path, f"{packages[0]}[{','.join(extras)}]", *lowest(extras))

    environment.run("python", "-c", IMPORT_EVERYTHING)
    environment.run("python", "-c", SIGN)
    for capture in ("acks", "old_versions", "produce_consume_group"):
        environment.run("kdiag", "decode", CAPTURES / f"{capture}.pcap", "--values", "-o", "jsonl")
    assert "order-reader" in environment.run("kdiag", "report", "clients", CAPTURE)
    assert "error KD1101" in environment.run("kdiag", "check", "-b", "127.0.0.1:1", code=3)
