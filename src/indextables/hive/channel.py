"""How messages get to a Metastore: over a socket, or into the embedded one of a running Spark.

A connection that breaks is opened once more and the message is sent again. The caller sends only what may arrive twice: every
change that Lakekeeper makes says what shall be, never what to add to what is.
"""

from __future__ import annotations

import io
import socket
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

from indextables.errors import MetastoreError
from indextables.hive.thrift import MessageType, ProtocolViolationError, Struct, decode_message, encode_call

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CONNECT_SECONDS = 10.0
_ANSWER_SECONDS = 600.0
_DEFAULT_PORT = 9083


class Channel(Protocol):
    """One conversation with a Metastore; not for two threads at a time."""

    def call(self, name: str, arguments: Struct) -> tuple[MessageType, Struct]:
        """Send a call and return what came back.

        Raises:
            MetastoreError: The Metastore cannot be reached, or does not speak Thrift's binary protocol.
        """

    def close(self) -> None:
        """End the conversation."""


class SocketChannel:
    """A Thrift service, spoken to over TCP without encryption.

    Args:
        uris: `thrift://host:port`, more than one separated by commas: the first that answers is taken.
    """

    def __init__(self, uris: str) -> None:
        self._addresses = [_address(uri.strip()) for uri in uris.split(",") if uri.strip()]
        self._uris = uris
        self._socket: socket.socket | None = None
        self._source: io.BufferedReader | None = None
        self._sequence = 0

    def call(self, name: str, arguments: Struct) -> tuple[MessageType, Struct]:
        """Send a call, twice if the connection breaks."""
        self._sequence += 1
        message = encode_call(name, self._sequence, arguments)
        fresh = self._source is None
        try:
            return self._exchange(message)
        except (OSError, ProtocolViolationError) as error:
            self.close()
            if fresh and isinstance(error, ProtocolViolationError) and "Thrift" in str(error):
                raise self._unreachable(name, error) from error
        try:
            return self._exchange(message)
        except (OSError, ProtocolViolationError) as error:
            self.close()
            raise self._unreachable(name, error) from error

    def close(self) -> None:
        """Close the connection; the next call opens another."""
        if self._source is not None:
            self._source.close()
        if self._socket is not None:
            self._socket.close()
        self._socket = self._source = None

    def _exchange(self, message: bytes) -> tuple[MessageType, Struct]:
        if self._socket is None or self._source is None:
            self._socket = self._connect()
            self._source = self._socket.makefile("rb")
        self._socket.sendall(message)
        kind, _, sequence, content = decode_message(self._source)
        if sequence != self._sequence:
            raise ProtocolViolationError(f"the answer to call {self._sequence} has the number {sequence}")
        return kind, content

    def _connect(self) -> socket.socket:
        failure: OSError | None = None
        for address in self._addresses:
            try:
                connection = socket.create_connection(address, timeout=_CONNECT_SECONDS)
            except OSError as error:
                failure = error
            else:
                connection.settimeout(_ANSWER_SECONDS)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                return connection
        raise failure or OSError("no address is given")

    def _unreachable(self, name: str, error: Exception) -> MetastoreError:
        return MetastoreError(
            name,
            kind=type(error).__name__,
            detail=f"{self._uris}: {error}",
            way_out="Check hive.metastore.uris and that the service runs; one that asks for Kerberos is not supported",
        )


class EmbeddedChannel:
    """The Metastore inside a Spark driver, on its own database and without a service.

    The JVM's own processor of Thrift messages answers, so everything above this class is the same as with a service.
    """

    def __init__(self, spark: SparkSession) -> None:
        spark.sql("SHOW DATABASES").collect()  # lets Spark set the database up first, in its own way
        jvm: Any = spark.sparkContext._jvm  # noqa: SLF001 - public PySpark has no way to the JVM
        self._jvm = jvm
        hive = jvm.org.apache.hadoop.hive
        # With the session's settings, which name the database; the class only says which jar is ours, and any will do.
        hadoop = spark._jsparkSession.sessionState().newHadoopConf()  # noqa: SLF001 - see above
        configuration = hive.conf.HiveConf(hadoop, hadoop.getClass())
        configuration.set("hive.metastore.schema.verification", "false")  # as Spark itself does for its embedded one
        handler = hive.metastore.HiveMetaStore.newRetryingHMSHandler("lakekeeper", configuration, True)
        self._processor = hive.metastore.api.ThriftHiveMetastore.Processor(handler)
        self._sequence = 0

    def call(self, name: str, arguments: Struct) -> tuple[MessageType, Struct]:
        """Hand the message to the JVM and read its answer."""
        self._sequence += 1
        thrift = self._jvm.org.apache.thrift
        sent = thrift.transport.TMemoryInputTransport(encode_call(name, self._sequence, arguments))
        received = thrift.transport.TMemoryBuffer(1024)
        protocol = thrift.protocol.TBinaryProtocol
        self._processor.process(protocol(sent), protocol(received))
        answer = bytes(self._jvm.java.util.Arrays.copyOf(received.getArray(), received.length()))
        try:
            kind, _, _, content = decode_message(io.BytesIO(answer))
        except ProtocolViolationError as error:
            raise MetastoreError(name, kind="ProtocolViolationError", detail=str(error)) from error
        return kind, content

    def close(self) -> None:
        """Nothing to close: the JVM is Spark's."""


def _address(uri: str) -> tuple[str, int]:
    try:
        parts = urlsplit(uri if "//" in uri else f"thrift://{uri}")
        scheme, host, port = parts.scheme, parts.hostname, parts.port
    except ValueError:  # a port that is no number, or brackets that do not close
        scheme, host, port = "", None, None
    if scheme != "thrift" or not host:
        raise MetastoreError(
            "connect", kind="address", detail=f"{uri} is no Metastore", way_out="Name it as thrift://host:9083"
        )
    return host, port or _DEFAULT_PORT
