"""One broker and one Spark session for the whole run, and the marks of the tests that use them."""

from __future__ import annotations

import gc
import os
from typing import TYPE_CHECKING, NoReturn

import pytest
from hypothesis import settings

from millstream.catalog.job_settings import JobSettings
from millstream.errors import Code, SetupError
from millstream.testing.broker import EmbeddedBroker
from millstream.testing.broker_security import BrokerSecurity
from millstream.testing.certificates import make_certificates
from tests.secured import USERS, SecuredBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

settings.register_profile("quick", max_examples=50, deadline=None, print_blob=True)  # speed is for benchmarks/
settings.register_profile("thorough", parent=settings.get_profile("quick"), max_examples=1000)
settings.load_profile("quick")  # unless --hypothesis-profile names the other

EXPENSIVE = {"broker": "broker", "secured_broker": "broker", "spark": "spark"}
NOT_ON_THIS_MACHINE = (Code.JAVA_MISSING, Code.JAVA_VERSION, Code.JVM_PARTS_UNAVAILABLE)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record",
        action="store_true",
        help="rewrite what script tests expect with what is found; look at the difference before keeping it",
    )


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--record") and os.environ.get("CI"):
        raise pytest.UsageError("--record is for a developer's machine, and CI is set")


@pytest.hookimpl(tryfirst=True)  # before -m selects by mark
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for fixture, mark in EXPENSIVE.items():
            if fixture in getattr(item, "fixturenames", ()):
                item.add_marker(mark)


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Python does not know what its objects hold in the JVM, and would keep finished jobs for a long time."""
    if "spark" in getattr(item, "fixturenames", ()):
        gc.collect()


@pytest.fixture(scope="session")
def broker() -> Iterator[str]:
    """The bootstrap servers: those of TEST_KAFKA_BOOTSTRAP, or of a broker started here."""
    given = os.environ.get("TEST_KAFKA_BOOTSTRAP")
    if given:
        yield given
        return
    embedded = EmbeddedBroker(partitions=2)
    try:
        embedded.start()
    except SetupError as error:
        skip_without_java(error)
    with embedded:
        yield embedded.bootstrap


@pytest.fixture(scope="session")
def secured_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredBroker]:
    folder = tmp_path_factory.mktemp("certificates")
    try:
        certificates = make_certificates(folder)
        embedded = EmbeddedBroker(security=BrokerSecurity(USERS, certificates)).start()
    except SetupError as error:
        skip_without_java(error)
    with embedded:
        yield SecuredBroker(embedded, certificates, folder)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Looks for new messages ten times a second: without a limit, each idle job would use half a core."""
    from millstream.spark.session import OwnedSession

    log = tmp_path_factory.mktemp("spark") / "spark.log"
    unhurried = JobSettings(spark=(("spark.sql.streaming.pollingDelay", "100ms"),))
    try:
        owned = OwnedSession(settings=unhurried, parallelism=2, master=None, log=log, notice=print)
    except SetupError as error:
        skip_without_java(error)
    gc.freeze()  # what is loaded by now stays, and need not be collected after each test
    yield owned.spark
    owned.close(soon=True)  # the broker may be gone already, and Spark's consumers would wait for it


def skip_without_java(error: SetupError) -> NoReturn:
    """Skips on a machine without Java or its parts; in CI, that is a failure, like any other reason."""
    if os.environ.get("CI") or error.code not in NOT_ON_THIS_MACHINE:
        raise error
    pytest.skip(str(error))


@pytest.fixture
def record(request: pytest.FixtureRequest) -> bool:
    """Whether expected files are to be rewritten."""
    return bool(request.config.getoption("--record"))
