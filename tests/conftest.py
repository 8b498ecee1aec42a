"""What every test can ask for: a real Kafka, its jars, Kafka as judge, the reference material."""

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
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

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As in a shell's background job: programs that tests start, and interrupt, would inherit it.
    signal.signal(signal.SIGINT, signal.default_int_handler)

IS_CI = os.environ.get("CI") == "true"

SPARK_CONF = {
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",
    "spark.sql.execution.arrow.pyspark.validateSchema.enabled": "true",
}

settings.register_profile("ci", derandomize=True, deadline=None, max_examples=300)
settings.register_profile("dev", deadline=None, max_examples=50)
settings.load_profile("ci" if IS_CI else "dev")


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


@pytest.fixture
def make_wan_cluster(
    tmp_path: Path, get_kafka_jars: Callable[[str], Path]
) -> Callable[..., WanCluster]:
    """Return a function from a version and options to a Kafka behind a delayed link."""
    with _skipping_unless_ci():
        delayed_network.require_rights()

    def make(version: str, *link_options: str, **options: Any) -> WanCluster:
        get_kafka_jars(version)
        return WanCluster(version, Path(mkdtemp(dir=tmp_path)), *link_options, **options)

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
