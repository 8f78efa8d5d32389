"""Settings and store properties of a real Spark session, and what it costs to fetch them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any, cast

import pytest

from indextables.config import Secret, Settings
from indextables.config.settings import registry
from indextables.errors import ConfigError
from indextables.spark.conf import SparkConfiguration, configuration_of, settings_of, storage_properties

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

INTERVAL = "spark.indextables.checkpoint.interval"
CALLS = (
    5  # session state, its configuration, the selection, the mapper, and the text: only the last answer carries data
)
ONE_PACKET = 8192
GONE = """
from pyspark.sql import SparkSession
from indextables.errors import EnvironmentSetupError
from indextables.spark.conf import settings_of

def start():
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    return builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1").getOrCreate()

def reason(spark):
    try:
        settings_of(spark)
    except EnvironmentSetupError as error:
        return error.problem.rpartition(": ")[2]

spark = start()
spark.stop()
print(reason(spark))
spark = start()
spark.sparkContext._gateway.proc.kill()
spark.sparkContext._gateway.proc.wait()
print(reason(spark))
"""


class Scratch:
    """Properties that one test sets on the session or on Hadoop, and that go away with it."""

    def __init__(self, spark: SparkSession) -> None:
        self._session = spark.conf
        self._hadoop: Any = spark.sparkContext._jsc.hadoopConfiguration()
        self._set: list[tuple[Any, str]] = []

    def session(self, key: str, value: str) -> None:
        self._set.append((self._session, key))
        self._session.set(key, value)

    def hadoop(self, key: str, value: str) -> None:
        self._set.append((self._hadoop, key))
        self._hadoop.set(key, value)

    def clear(self) -> None:
        for owner, key in self._set:
            owner.unset(key)


@pytest.fixture
def scratch(spark: SparkSession) -> Iterator[Scratch]:
    made = Scratch(spark)
    yield made
    made.clear()


@pytest.fixture
def answers(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The JVM's answers to every call from here on, but for notices that an object is no longer needed."""
    gateway: Any = spark.sparkContext._gateway
    client = gateway._gateway_client
    send = client.send_command
    seen: list[str] = []

    def recording(command: str, *args: Any, **kwargs: Any) -> Any:
        answer = send(command, *args, **kwargs)
        if not command.startswith("m\n"):
            seen.append(str(answer))
        return answer

    monkeypatch.setattr(client, "send_command", recording)
    return seen


def test_a_session_without_settings_gives_the_defaults(spark: SparkSession) -> None:
    assert settings_of(spark) == Settings()


def test_hadoop_stands_above_the_default(spark: SparkSession, scratch: Scratch) -> None:
    scratch.hadoop(INTERVAL, "20")
    assert settings_of(spark).checkpoint.interval == 20


def test_the_session_stands_above_hadoop(spark: SparkSession, scratch: Scratch) -> None:
    scratch.hadoop(INTERVAL, "20")
    scratch.session(INTERVAL, "30")
    assert settings_of(spark).checkpoint.interval == 30


def test_an_option_stands_above_the_session(spark: SparkSession, scratch: Scratch) -> None:
    scratch.hadoop(INTERVAL, "20")
    scratch.session(INTERVAL, "30")
    assert settings_of(spark, {INTERVAL.lower(): "40"}).checkpoint.interval == 40


@pytest.mark.parametrize(
    ("in_session", "in_hadoop"),
    [(INTERVAL, INTERVAL.upper()), (INTERVAL.lower(), INTERVAL), (INTERVAL, INTERVAL.lower())],
)
def test_the_session_stands_above_hadoop_when_their_spelling_differs(
    spark: SparkSession, scratch: Scratch, in_session: str, in_hadoop: str
) -> None:
    scratch.hadoop(in_hadoop, "20")
    scratch.session(in_session, "30")
    assert settings_of(spark).checkpoint.interval == 30


def test_a_bad_value_of_the_session_names_its_key(spark: SparkSession, scratch: Scratch) -> None:
    scratch.session(INTERVAL, "often")
    with pytest.raises(ConfigError, match=r"spark\.indextables\.checkpoint\.interval is set to 'often'"):
        settings_of(spark)


def test_text_survives_the_way_from_the_jvm(spark: SparkSession, scratch: Scratch) -> None:
    names = 'plain, with "quotes", back\\slash, ünïcödé, 🜁, tab\there'
    scratch.session("spark.indextables.stats.columns", names)
    assert settings_of(spark).stats.columns == tuple(name.strip() for name in names.split(","))


def test_store_properties_come_as_spark_uses_them(spark: SparkSession, scratch: Scratch) -> None:
    scratch.hadoop("fs.s3a.access.key", "from-hadoop")
    scratch.hadoop("fs.s3a.secret.key", "from-hadoop")
    scratch.hadoop("fs.s3a.bucket.my.bucket.endpoint", "http://127.0.0.1:9000")
    scratch.session("fs.s3a.access.key", "from-session")
    scratch.session("fs.azure.account.key.me.dfs.core.windows.net", "azure")
    scratch.session("dfs.ha.namenodes.cluster", "nn1,nn2")
    properties = storage_properties(spark, {"fs.s3a.session.token": "from-option", "path": "s3a://b/t"})
    assert properties["fs.s3a.access.key"] == "from-session"
    assert properties["fs.s3a.secret.key"] == "from-hadoop"
    assert properties["fs.s3a.session.token"] == "from-option"
    assert properties["fs.s3a.bucket.my.bucket.endpoint"] == "http://127.0.0.1:9000"
    assert properties["fs.azure.account.key.me.dfs.core.windows.net"] == "azure"
    assert properties["dfs.ha.namenodes.cluster"] == "nn1,nn2"
    assert properties["fs.defaultFS"] == "file:///"
    assert all(key.startswith(("fs.", "dfs.")) for key in properties)


def test_our_own_credentials_are_among_the_store_properties_whatever_their_spelling(
    spark: SparkSession, scratch: Scratch
) -> None:
    scratch.hadoop("spark.indextables.aws.region", "from-hadoop")
    scratch.hadoop("spark.indextables.aws.accessKey", "from-hadoop")
    scratch.session("spark.indextables.AWS.accessKey", "from-session")
    scratch.session("spark.indextables.aws.secretKey", "from-session")
    properties = storage_properties(spark, {"spark.indextables.aws.secretkey": Secret("from-option")})
    assert {key.lower(): value for key, value in properties.items() if key.startswith("spark.")} == {
        "spark.indextables.aws.region": "from-hadoop",
        "spark.indextables.aws.accesskey": "from-session",
        "spark.indextables.aws.secretkey": "from-option",
    }
    assert len({key.lower() for key in properties}) == len(properties)


def test_properties_that_open_no_store_stay_in_the_jvm(spark: SparkSession, scratch: Scratch) -> None:
    scratch.session("fs.trash.interval", "60")
    fetched = configuration_of(spark)
    assert "fs.trash.interval" not in fetched.session
    assert not any(key.startswith("spark.app") for key in fetched.session)


def test_no_value_shows_in_the_repr(spark: SparkSession, scratch: Scratch) -> None:
    scratch.hadoop("fs.s3a.secret.key", "canary")
    assert "canary" not in repr(configuration_of(spark))


@pytest.mark.parametrize("count", [0, 40])
def test_the_number_of_calls_does_not_depend_on_the_number_of_keys(
    spark: SparkSession, scratch: Scratch, answers: list[str], count: int
) -> None:
    for entry in list(registry().values())[:count]:
        scratch.session(entry.setting.key, entry.setting.kind.write(entry.default))
    answers.clear()
    assert settings_of(spark) == Settings()
    assert len(answers) == CALLS


def test_one_answer_carries_the_data_and_fits_one_packet(
    spark: SparkSession, scratch: Scratch, answers: list[str]
) -> None:
    for entry in registry().values():
        scratch.session(entry.setting.key, entry.setting.kind.write(entry.default))
    answers.clear()
    settings_of(spark)
    assert [len(answer) > 20 for answer in answers].count(True) == 1
    assert max(map(len, answers)) < ONE_PACKET


def test_settings_travel_to_workers_with_their_secrets(spark: SparkSession) -> None:
    settings = settings_of(
        spark, {"spark.indextables.aws.accessKey": "id", "spark.indextables.aws.secretKey": "canary"}
    )

    def in_worker(_: int) -> tuple[str, str]:
        key = settings.aws.secret_key
        assert key is not None
        return repr(settings), key.reveal()

    (shown, revealed) = spark.sparkContext.parallelize([0], 1).map(in_worker).collect()[0]
    assert revealed == "canary"
    assert "canary" not in shown
    assert settings.aws.secret_key == Secret("canary")


def test_without_a_jvm_the_session_alone_is_asked() -> None:
    class Conf:
        getAll = {INTERVAL: "30", "fs.s3a.access.key": "id", "spark.app.name": "x"}  # noqa: N815, RUF012 - Spark's name

    class ConnectSession:
        conf = Conf()

    connect = cast("SparkSession", ConnectSession())
    assert settings_of(connect).checkpoint.interval == 30
    assert storage_properties(connect) == {"fs.s3a.access.key": "id"}
    assert configuration_of(connect) == SparkConfiguration(
        session={INTERVAL: "30", "fs.s3a.access.key": "id"}, hadoop={}
    )


def test_a_session_that_is_gone_gives_our_error() -> None:
    # In a process of its own, because it takes its Spark down.
    done = subprocess.run([sys.executable, "-c", GONE], capture_output=True, text=True, timeout=300)
    assert done.stdout.splitlines() == ["the session is stopped", "its JVM does not answer"], done.stderr
