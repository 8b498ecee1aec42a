"""What every test can ask for: a real Kafka, its jars, Kafka as judge, the reference material.

Which tests run is a matter of their tier: see `tiers.tier`.
"""

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from delays import delayed_network
from delays.delayed_path import DelayedPath
from kdiag.pipeline.session import missing, open_session
from programs import browser
from real_kafka import kafka_jars, kafka_oracle
from real_kafka.secure_cluster import SecureCluster
from real_kafka.wan_cluster import WanCluster
from spark_runs import class_archive
from tiers import sampling
from tiers.collection import Collection, share_bytecode
from tiers.sampling import IS_CI, IS_EXHAUSTIVE
from tiers.second_try import SecondTry
from tiers.tier import THOROUGH, Tiers
from tiers.workers import ByFileOrGroup

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As in a shell's background job: programs that tests start, and interrupt, would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.pop("FORCE_COLOR", None)  # of whoever runs the tests; they set their own
class_archive.use()
share_bytecode()

SPARK_CONF = {
    "spark.driver.memory": "1g",
    "spark.sql.execution.arrow.pyspark.validateSchema.enabled": "true",
}

SPARKS_FILES = [
    f"kdiag/{name}.py"
    for name in (
        *("pipeline/dataframes/test_plan", "pipeline/dataframes/test_source"),
        *("pipeline/input/test_captures", "pipeline/streams/test_folder_source"),
        *("pipeline/input/test_split_index", "pipeline/input/test_split_packets"),
        *(
            "pipeline/output/test_lake_tables",
            "pipeline/output/test_views",
            "pipeline/test_job",
            "pipeline/test_run",
        ),
        *(
            "pipeline/test_stages",
            "pipeline/streams/test_states",
            "pipeline/streams/test_status",
            "pipeline/streams/test_stream",
            "pipeline/test_tasks",
            "test_spark",
        ),
    )
]
"""Tests of modules that import Spark, which only the extra `dev` brings."""

collect_ignore = [] if IS_CI or find_spec("pyspark") else SPARKS_FILES


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of the second try."""
    help_text = "run what failed once more, alone; write to the file what passed then"
    parser.addoption("--second-try", type=Path, metavar="FILE", help=help_text)


def pytest_configure(config: pytest.Config) -> None:
    """Collect quickly, keep tests to their tiers, and try as many examples as theirs has."""
    tier = config.getoption("markexpr")
    config.pluginmanager.register(Collection())
    config.pluginmanager.register(Tiers(tier))
    notes, is_worker = config.getoption("--second-try"), hasattr(config, "workerinput")
    if notes and not is_worker:
        config.pluginmanager.register(SecondTry(notes))
    examples = 300 if IS_EXHAUSTIVE else 50 if tier == THOROUGH else 10
    settings.register_profile(
        "tier", derandomize=IS_CI and not IS_EXHAUSTIVE, deadline=None, max_examples=examples
    )
    settings.load_profile("tier")


def pytest_report_header() -> str:
    """Say which cases of the large matrices are drawn."""
    drawn = "all cases" if IS_EXHAUSTIVE else f"cases drawn by KDIAG_SEED={sampling.SEED}"
    return f"{drawn} (KDIAG_EXHAUSTIVE=1 runs all)"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the cases that are not drawn, of those that were chosen otherwise."""
    left_out = sampling.not_drawn(items)
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]


def pytest_xdist_auto_num_workers() -> int:
    """Have `-n auto` begin a worker more than there are cores: half of the time tests wait."""
    return len(os.sched_getaffinity(0)) + 1


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByFileOrGroup | None:
    """Divide the tests among workers by files and groups."""
    return ByFileOrGroup(config, log) if config.getoption("dist") == "loadfile" else None


@contextmanager
def _skipping_unless_ci() -> Iterator[None]:
    """Skip the test where this machine lacks what it needs; CI must have everything."""
    try:
        yield
    except kafka_jars.UnavailableError as error:
        if IS_CI:
            raise
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def require_programs() -> Callable[..., None]:
    """Return a function that skips the test unless the named programs are installed."""

    def require(*programs: str) -> None:
        with _skipping_unless_ci():
            kafka_jars.require_programs(*programs)

    return require


@pytest.fixture(scope="session")
def get_kafka_jars() -> Callable[[str], Path]:
    """Return a function from a Kafka version to the folder with its jars, fetched if need be."""

    def get(version: str) -> Path:
        with _skipping_unless_ci():
            return kafka_jars.jars(version)

    return get


@pytest.fixture(scope="session")
def get_secure_cluster(
    get_kafka_jars: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[[str], SecureCluster]]:
    """Yield a function from a Kafka version to a running node with every kind of listener."""
    with ExitStack() as running:

        @cache
        def get(version: str) -> SecureCluster:
            get_kafka_jars(version)
            cluster = SecureCluster(version, tmp_path_factory.mktemp("secure"))
            return running.enter_context(cluster)

        yield get


@pytest.fixture(scope="session")
def kafka_reads(
    get_kafka_jars: Callable[[str], Path],
) -> Callable[[str, Iterable[Mapping[str, object]]], list[dict[str, Any]]]:
    """Return `kafka_oracle.decode`: Kafka of a version reads many byte strings in one JVM."""

    def read(version: str, lines: Iterable[Mapping[str, object]]) -> list[dict[str, Any]]:
        get_kafka_jars(version)
        return kafka_oracle.decode(version, lines)

    return read


@pytest.fixture
def make_delayed_path(tmp_path: Path) -> Callable[..., DelayedPath]:
    """Return a function from options of `delayed_link` to a path with a delay, which needs root."""
    with _skipping_unless_ci():
        delayed_network.require_rights()
    return partial(DelayedPath, tmp_path)


@pytest.fixture(scope="session")
def make_wan_cluster(
    tmp_path_factory: pytest.TempPathFactory, get_kafka_jars: Callable[[str], Path]
) -> Callable[..., WanCluster]:
    """Return a function from a version and options to a Kafka behind a delayed link."""
    with _skipping_unless_ci():
        delayed_network.require_rights()

    def make(version: str, *link_options: str, **options: Any) -> WanCluster:
        get_kafka_jars(version)
        return WanCluster(version, tmp_path_factory.mktemp("wan"), *link_options, **options)

    return make


@pytest.fixture(scope="session")
def get_shown_page() -> Callable[[Path], str]:
    """Return `browser.shown`: a page as Chromium has it."""
    with _skipping_unless_ci():
        browser.require_browser()
    return browser.shown


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """Yield a session of Spark on two cores, which all tests share: starting it takes seconds."""
    lack = missing()
    if lack and IS_CI:
        raise kafka_jars.UnavailableError(lack)
    if lack:
        pytest.skip(lack)
    session = open_session("local[2]", SPARK_CONF, "tests")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def reference() -> Path:
    """Return the folder of the reference material, which `KDIAG_REFERENCE` names."""
    named = os.environ.get("KDIAG_REFERENCE")
    if not named:
        pytest.skip("KDIAG_REFERENCE does not name the reference material")
    return Path(named)
