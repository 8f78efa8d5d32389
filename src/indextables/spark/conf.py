"""The configuration of a running Spark, fetched in one piece.

Each call into the JVM takes a tenth of a millisecond or more, so asking the session and Hadoop key by key would cost more with
every new setting. Instead the JVM selects the keys and writes them as one JSON text. The text stays small on purpose: an answer of more than 8 KB is sent in two
packets and waits 40 ms for the first to be acknowledged, so of Hadoop's many properties only those that open a store are taken.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import JavaClass
from py4j.protocol import Py4JError

from indextables.config import PREFIX, Secret, Settings
from indextables.errors import EnvironmentSetupError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

_PREFIX = re.escape(PREFIX)
_STORAGE = (
    rf"{_PREFIX}aws\..+"
    r"|fs\.defaultFS"
    r"|fs\.s3a\.(?:bucket\..+\.)?(?:access\.key|secret\.key|session\.token|endpoint|endpoint\.region"
    r"|path\.style\.access|connection\.ssl\.enabled|aws\.credentials\.provider)"
    r"|fs\.azure\.(?:account|sas)\..+"
    r"|fs\.gs\.(?:auth|project|storage\.root)\..+|google\.cloud\.auth\..+"
    # Where the name nodes of a highly available HDFS are.
    r"|dfs\.(?:nameservices|ha\.namenodes\..+|namenode\.rpc-address\..+)"
)
_WANTED = f"(?i)^(?:{_PREFIX}.+|{_STORAGE})$"  # read by Java and by Python alike
_IS_STORAGE = re.compile(_STORAGE, re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class SparkConfiguration:
    """What a session and its Hadoop say about our settings and about stores; values are kept out of `repr`."""

    session: Mapping[str, str] = field(repr=False)
    hadoop: Mapping[str, str] = field(repr=False)

    def settings(self, options: Mapping[str, object] | None = None) -> Settings:
        """Return the settings that hold with these options of a read or write.

        Raises:
            ConfigError: A value is not allowed.
        """
        return Settings.resolve(options, session=self.session, hadoop=self.hadoop)

    def storage_properties(self, options: Mapping[str, object] | None = None) -> dict[str, str]:
        """Return what opens a store, under our names and Hadoop's: an option stands above the session, and it above Hadoop.

        The result holds secrets in the clear.
        """
        found = {
            key.lower(): (key, value.reveal() if isinstance(value, Secret) else str(value))
            for layer in (self.hadoop, self.session, options or {})
            for key, value in layer.items()
            if value is not None and _IS_STORAGE.fullmatch(key)
        }
        return dict(found.values())


def configuration_of(spark: SparkSession) -> SparkConfiguration:
    """Fetch a session's configuration; with Spark Connect, where no JVM is near, Hadoop's part is empty.

    Raises:
        EnvironmentSetupError: The session is stopped, or its JVM does not answer.
    """
    java_session = getattr(spark, "_jsparkSession", None)
    if java_session is None:
        return SparkConfiguration(session=_wanted(spark.conf.getAll), hadoop={})
    context = spark.sparkContext
    if context._jsc is None:  # noqa: SLF001 - pyspark has no public way to Hadoop's configuration
        raise _no_answer("the session is stopped")
    try:
        return _fetch(java_session, context._jsc)  # noqa: SLF001
    except (Py4JError, OSError) as error:  # a JVM that has died shows as a refused connection
        raise _no_answer("its JVM does not answer") from error


def settings_of(spark: SparkSession, options: Mapping[str, object] | None = None) -> Settings:
    """Return the settings that hold for one read or write in this session.

    Raises:
        ConfigError: A value is not allowed.
        EnvironmentSetupError: The session is stopped, or its JVM does not answer.
    """
    return configuration_of(spark).settings(options)


def storage_properties(spark: SparkSession, options: Mapping[str, object] | None = None) -> dict[str, str]:
    """Return what opens a store (`fs.s3a.access.key` and the like), with the values that Spark's own reads would use.

    The result holds secrets in the clear.

    Raises:
        EnvironmentSetupError: The session is stopped, or its JVM does not answer.
    """
    return configuration_of(spark).storage_properties(options)


def _fetch(java_session: Any, java_context: Any) -> SparkConfiguration:
    # Spark lays the session's properties over Hadoop's by exact name, which settles precedence but for names that differ in case.
    both = _as_json(java_session.sessionState().newHadoopConf())
    if len({key.lower() for key in both}) == len(both):
        return SparkConfiguration(session=both, hadoop={})
    hadoop = _as_json(java_context.hadoopConfiguration())
    session = {key: value for key, value in both.items() if hadoop.get(key) != value}
    return SparkConfiguration(session=session, hadoop=hadoop)


def _as_json(configuration: Any) -> dict[str, str]:
    client = configuration._gateway_client  # noqa: SLF001 - naming the class directly saves a call for each part of its name
    mapper = JavaClass("com.fasterxml.jackson.databind.ObjectMapper", client)()
    selected: dict[str, str] = json.loads(mapper.writeValueAsString(configuration.getValByRegex(_WANTED)))
    return selected


def _wanted(properties: Mapping[str, str]) -> dict[str, str]:
    wanted = re.compile(_WANTED)
    return {key: value for key, value in properties.items() if wanted.match(key)}


def _no_answer(reason: str) -> EnvironmentSetupError:
    return EnvironmentSetupError(
        f"The configuration of the Spark session cannot be read: {reason}",
        "Start a new session with SparkSession.builder.getOrCreate()",
    )
