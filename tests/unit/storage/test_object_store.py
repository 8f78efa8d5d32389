from __future__ import annotations

import pickle
import subprocess
import sys
import traceback
import uuid
from typing import TYPE_CHECKING, Any

import boto3
import pytest
from obstore import exceptions as foreign
from obstore.store import AzureStore, GCSStore

from indextables.config.secret import Secret
from indextables.errors import (
    AlreadyExistsError,
    ConfigError,
    IndexTablesError,
    NotFoundError,
    OutcomeUnknownError,
    PermissionDeniedError,
    StorageError,
    StorageUnavailableError,
    UnsafePathError,
    UnsupportedStoreError,
)
from indextables.storage.object_store import (
    _MEANINGS,
    OBJECT_STORE_SCHEMES,
    ObjectStore,
    _Call,
    _translate,
    open_object_store,
)
from tests.support.proxy import Exchange, FaultProxy, Reply, fault_proxy, refuse
from tests.support.s3 import S3Endpoint, moto_server

if TYPE_CHECKING:
    from collections.abc import Iterator

CANARY = "canary-secret-do-not-show"
ODD_NAMES = [
    "date=a%2Fb",
    "date=100%25",
    "a b",
    "ü",
    "#",
    "what?",
    "[x]",
    "~",
    "a+b",
    "a&b",
    "a'b",
    'a"b',
    "{x}",
    "<x>",
    "a^b`|",
    "a*b",
    "x:y",
    "日本/😀",
    "e\u0301",
]


@pytest.fixture(scope="module")
def server() -> Iterator[S3Endpoint]:
    with moto_server() as endpoint:
        yield endpoint


@pytest.fixture
def bucket(server: S3Endpoint) -> S3Endpoint:
    return server.new_bucket()


@pytest.fixture
def store(bucket: S3Endpoint) -> ObjectStore:
    return open_object_store(f"s3://{bucket.bucket}/lake/sales", options=bucket.options())


@pytest.fixture
def raw(bucket: S3Endpoint) -> Iterator[Any]:
    """Another client, which knows nothing of our conventions."""
    client = boto3.client(
        "s3",
        endpoint_url=bucket.endpoint,
        aws_access_key_id=bucket.access_key,
        aws_secret_access_key=bucket.secret_key,
        region_name="us-east-1",
    )
    yield client
    client.close()


def paths(store: ObjectStore, prefix: str = "", start_after: str | None = None) -> list[str]:
    return [meta.path for meta in store.list_from(prefix, start_after)]


def fresh_memory() -> str:
    return f"memory://{uuid.uuid4().hex}"


class TestAddresses:
    @pytest.mark.parametrize(
        ("url", "shown"),
        [
            ("s3://bucket", "s3://bucket"),
            ("s3://bucket/", "s3://bucket"),
            ("S3A://bucket/a/b/", "s3a://bucket/a/b"),
            ("s3://my.bucket-1/a b/c%20d=#e", "s3://my.bucket-1/a b/c%20d=#e"),
            ("memory://name/x", "memory://name/x"),
            ("abfss://box@lake.dfs.core.windows.net/t", "abfss://box@lake.dfs.core.windows.net/t"),
            ("az://box@lake.blob.core.windows.net", "az://box@lake.blob.core.windows.net"),
        ],
    )
    def test_an_address_is_shown_as_a_person_writes_it(self, url: str, shown: str) -> None:
        options = {"fs.azure.account.key": "bm90LWEtcmVhbC1rZXk="}
        store = open_object_store(url, options=options)
        assert store.url == shown
        assert repr(store) == f"ObjectStore({shown!r})"

    @pytest.mark.parametrize("url", ["ftp://host/x", "hdfs://host/x", "/plain/path", "bucket/x", "", "s3:/b", "://x"])
    def test_another_scheme_is_not_served(self, url: str) -> None:
        with pytest.raises(UnsupportedStoreError, match=r"Use a local path, s3://"):
            open_object_store(url, options={})

    @pytest.mark.parametrize("scheme", sorted(OBJECT_STORE_SCHEMES))
    @pytest.mark.parametrize(
        "rest",
        [
            f"user:{CANARY}@bucket/x",
            f"{CANARY}@bucket/x",
            f"user:{CANARY[:6]}/{CANARY[6:]}@bucket/x",
            f"bucket/x?X-Amz-Signature={CANARY}",
            f"bucket?sig={CANARY}",
            f"box:{CANARY}@lake.dfs.core.windows.net/x",
            f"box@evil.example.com/{CANARY}",
            f"box@lake.dfs.core.windows.net.evil.example.com/{CANARY}",
            f"bucket:{CANARY}/x",
            f"/{CANARY}",
            "bucket\n/x",
            "",
        ],
    )
    def test_an_address_with_more_than_a_bucket_and_a_path_is_refused_and_not_repeated(
        self, scheme: str, rest: str
    ) -> None:
        with pytest.raises(UnsafePathError) as caught:
            open_object_store(f"{scheme}://{rest}", options={})
        assert CANARY[6:] not in str(caught.value) + repr(vars(caught.value))

    @pytest.mark.parametrize("prefix", ["a/../b", "..", "a//b", "a/./b", "%2e%2e/b", "a\\b", "a\x00b"])
    def test_a_root_that_leads_elsewhere_is_refused(self, prefix: str) -> None:
        with pytest.raises(UnsafePathError):
            open_object_store(f"s3://bucket/{prefix}", options={})

    def test_a_bad_option_is_named(self) -> None:
        with pytest.raises(ConfigError, match=r"spark\.indextables\.aws\.endpoint"):
            open_object_store("s3://bucket", options={"spark.indextables.aws.endpoint": "gopher://x"})

    @pytest.mark.parametrize(
        ("url", "options"),
        [
            ("gs://bucket", {"fs.gs.auth.service.account.json.keyfile": "/does/not/exist.json"}),
            (
                "gs://bucket",
                {"fs.gs.auth.service.account.email": "a@b", "fs.gs.auth.service.account.private.key": CANARY},
            ),
            ("abfss://box@lake.dfs.core.windows.net", {"fs.azure.account.key": f"!{CANARY}"}),
            ("az://box", {}),
        ],
    )
    def test_credentials_that_cannot_be_used_are_an_error_at_once(
        self, url: str, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
        with pytest.raises(StorageError, match="Check the credentials") as caught:
            open_object_store(url, options=options)
        assert caught.value.detail
        assert CANARY not in "".join(traceback.format_exception(caught.value))


class TestMemory:
    def test_two_stores_of_one_name_see_the_same_bytes(self) -> None:
        url = fresh_memory()
        open_object_store(url, options={}).put("a", b"one")
        assert open_object_store(url, options={}).get("a") == b"one"

    def test_other_names_and_other_roots_are_separate(self) -> None:
        url = fresh_memory()
        open_object_store(f"{url}/x", options={}).put("a", b"one")
        assert paths(open_object_store(f"{url}/xy", options={})) == []
        assert paths(open_object_store(fresh_memory(), options={})) == []
        assert paths(open_object_store(url, options={})) == ["x/a"]


class TestNames:
    @pytest.mark.parametrize("name", ODD_NAMES)
    def test_an_object_is_stored_under_exactly_its_name(
        self, store: ObjectStore, bucket: S3Endpoint, raw: Any, name: str
    ) -> None:
        store.put_if_absent(f"d/{name}", b"odd")
        listed = raw.list_objects_v2(Bucket=bucket.bucket)["Contents"]
        assert [entry["Key"] for entry in listed] == [f"lake/sales/d/{name}"]

    @pytest.mark.parametrize("name", ODD_NAMES)
    def test_an_object_of_another_client_is_found_under_exactly_its_name(
        self, store: ObjectStore, bucket: S3Endpoint, raw: Any, name: str
    ) -> None:
        raw.put_object(Bucket=bucket.bucket, Key=f"lake/sales/d/{name}", Body=b"odd")
        assert paths(store) == paths(store, "d") == [f"d/{name}"]
        assert store.get(f"d/{name}") == b"odd"
        assert store.head(f"d/{name}").path == f"d/{name}"
        store.delete(f"d/{name}")
        assert "Contents" not in raw.list_objects_v2(Bucket=bucket.bucket)

    def test_names_that_differ_only_in_their_encoding_are_different_objects(self, store: ObjectStore) -> None:
        names = ["v=a b", "v=a%20b", "v=a+b", "v=a%2520b"]
        for name in names:
            store.put_if_absent(name, name.encode())
        assert [store.get(name).decode() for name in names] == names
        assert paths(store) == sorted(names)


class TestListing:
    def test_markers_of_directories_are_no_objects(self, store: ObjectStore, bucket: S3Endpoint, raw: Any) -> None:
        for key in ("lake/", "lake/sales/", "lake/sales/d/", "lake/sales/empty/"):
            raw.put_object(Bucket=bucket.bucket, Key=key, Body=b"")
        for path in ("d/a", "d-", "d0", "nothing"):
            store.put(path, b"" if path == "nothing" else b"x")
        assert paths(store) == ["d-", "d/a", "d0", "nothing"]
        assert paths(store, "d") == ["d/a"]

    def test_a_foreign_object_whose_name_no_table_can_have_is_an_error(
        self, store: ObjectStore, bucket: S3Endpoint, raw: Any
    ) -> None:
        raw.put_object(Bucket=bucket.bucket, Key="lake/sales/d//x", Body=b"x")
        with pytest.raises(UnsafePathError, match="lake/sales/d//x"):
            paths(store)

    def test_what_lies_beside_the_root_is_not_listed(self, store: ObjectStore, bucket: S3Endpoint, raw: Any) -> None:
        for key in ("lake/sales", "lake/sales-evil/a", "lake/salesx", "other"):
            raw.put_object(Bucket=bucket.bucket, Key=key, Body=b"x")
        assert paths(store) == []

    @pytest.mark.parametrize("start_after", ["a", "d", "d/", "d/a", "d/a/", "d/b", "e/", "zz", "#"])
    def test_starts_after_any_path_wherever_it_lies(self, store: ObjectStore, start_after: str) -> None:
        names = ["a", "d-", "d/a", "d/a.b", "d/a/b", "d/b", "d0", "e"]
        for name in names:
            store.put(name, b"x")
        expected = [name for name in names if name > start_after]
        assert paths(store, "", start_after) == expected
        assert paths(store, "d", start_after) == [name for name in expected if name.startswith("d/")]

    def test_a_replaced_object_is_told_apart_by_its_etag(self, store: ObjectStore) -> None:
        store.put("a", b"one")
        first = store.head("a")
        assert first.etag
        assert next(store.list_from("")).etag == first.etag
        store.put("a", b"two")
        assert store.head("a").etag != first.etag

    def test_a_start_that_is_no_path_is_refused(self, store: ObjectStore) -> None:
        with pytest.raises(UnsafePathError):
            paths(store, "", "a/../b")


class TestMissingBucket:
    @pytest.fixture
    def missing(self, server: S3Endpoint) -> ObjectStore:
        return open_object_store("s3://no-such-bucket/t", options=server.options())

    def test_a_write_says_that_the_bucket_is_missing(self, missing: ObjectStore) -> None:
        with pytest.raises(NotFoundError, match=r"the bucket does not exist\. Create the bucket"):
            missing.put_if_absent("a", b"x")
        with pytest.raises(NotFoundError, match="the bucket does not exist"):
            missing.put("a", b"x")

    def test_a_listing_says_that_the_bucket_is_missing(self, missing: ObjectStore) -> None:
        with pytest.raises(NotFoundError, match="the bucket does not exist"):
            paths(missing)

    def test_a_read_finds_nothing_and_gives_the_servers_reason(self, missing: ObjectStore) -> None:
        with pytest.raises(NotFoundError, match="404 Not Found, NoSuchBucket"):
            missing.get("a")
        assert not missing.exists("a")

    def test_there_is_nothing_to_delete(self, missing: ObjectStore) -> None:
        missing.delete("a")


class TestEnvironment:
    def test_variables_that_obstore_reads_cannot_win_over_options(
        self, bucket: S3Endpoint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for name in ("AWS_ENDPOINT", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
            monkeypatch.setenv(name, "http://127.0.0.1:9")
        monkeypatch.setenv("AWS_CONDITIONAL_PUT", "disabled")
        monkeypatch.setenv("AWS_BUCKET", "another")
        store = open_object_store(f"s3://{bucket.bucket}", options=bucket.options())
        store.put_if_absent("a", b"x")
        with pytest.raises(AlreadyExistsError):
            store.put_if_absent("a", b"y")

    def test_variables_alone_are_enough(self, bucket: S3Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("AWS_ENDPOINT_URL", bucket.endpoint)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", bucket.access_key)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", bucket.secret_key)
        store = open_object_store(f"s3a://{bucket.bucket}", options={})
        store.put("a", b"x")
        assert store.get("a") == b"x"


class TestOtherClouds:
    """Google and Azure as far as their protocols go without an account: what we send, and how we take their answers."""

    @pytest.fixture
    def proxy(self) -> Iterator[FaultProxy]:
        with fault_proxy("http://127.0.0.1:9") as proxy:
            yield proxy
            assert proxy.pending() == 0

    @pytest.fixture(params=["gs", "azure"])
    def cloud(self, request: pytest.FixtureRequest, proxy: FaultProxy) -> ObjectStore:
        return google_store(proxy) if request.param == "gs" else azure_store(proxy)

    def test_a_creation_is_conditional(self, cloud: ObjectStore, proxy: FaultProxy) -> None:
        sent: dict[str, str] = {}

        def refuse_and_remember(exchange: Exchange) -> None:
            sent.update({name.lower(): value for name, value in exchange.headers})
            refuse(409, code="BlobAlreadyExists")(exchange)

        proxy.inject(refuse_and_remember)
        with pytest.raises(AlreadyExistsError):
            cloud.put_if_absent("a", b"x")
        assert sent.get("if-none-match") == "*" or sent.get("x-goog-if-generation-match") == "0"

    def test_that_google_has_nothing_to_delete_counts_as_done(self, proxy: FaultProxy) -> None:
        proxy.inject(refuse(404, code="NoSuchKey"))
        google_store(proxy).delete("a")

    def test_that_azure_has_nothing_to_delete_counts_as_done(self, proxy: FaultProxy) -> None:
        batch = (
            b"--x\r\nContent-Type: application/http\r\nContent-ID: 0\r\n\r\n"
            b"HTTP/1.1 404 The specified blob does not exist.\r\nx-ms-error-code: BlobNotFound\r\n\r\n\r\n--x--\r\n"
        )
        reply = Reply(202, (("Content-Type", "multipart/mixed; boundary=x"),), batch)
        proxy.inject(lambda exchange: exchange.answer(reply))
        azure_store(proxy).delete("a")

    def test_a_failed_deletion_is_unknown(self, cloud: ObjectStore, proxy: FaultProxy) -> None:
        proxy.inject(refuse(503))
        with pytest.raises(OutcomeUnknownError):
            cloud.delete("a")

    def test_azures_listing_is_brought_into_order(self, proxy: FaultProxy) -> None:
        names = ["d/a", "d/b", "d-", "d0"]
        blobs = "".join(
            f"<Blob><Name>t/{name}</Name><Properties><Last-Modified>Mon, 01 Jan 2024 00:00:00 GMT</Last-Modified>"
            "<Content-Length>1</Content-Length><Content-Type>x</Content-Type></Properties></Blob>"
            for name in names
        )
        page = f"<EnumerationResults><Blobs>{blobs}</Blobs><NextMarker/></EnumerationResults>".encode()
        proxy.inject(*[lambda exchange: exchange.answer(Reply(200, (), page))] * 2)
        assert paths(azure_store(proxy)) == ["d-", "d/a", "d/b", "d0"]
        assert paths(azure_store(proxy), "", "d/a") == ["d/b", "d0"]


def google_store(proxy: FaultProxy) -> ObjectStore:
    client = GCSStore(
        "box",
        bearer_token="not a real one",
        base_url=proxy.endpoint,
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
    )
    return ObjectStore(client, url="gs://box/t", prefix="t")


def azure_store(proxy: FaultProxy) -> ObjectStore:
    client = AzureStore(
        "box",
        account_name="lake",
        account_key="bm90LWEtcmVhbC1rZXk=",
        endpoint=proxy.endpoint,
        client_options={"allow_http": True},
        retry_config={"max_retries": 0},
    )
    return ObjectStore(client, url="az://box/t", prefix="t")


def _foreign_errors() -> dict[str, type[Exception]]:
    found = {name: kind for name, kind in vars(foreign).items() if isinstance(kind, type)}
    return found | {kind.__name__: kind for kind in (FileNotFoundError, NotImplementedError, OSError, ValueError)}


EVERYWHERE = dict.fromkeys(("READ", "LIST", "CREATE", "CHANGE"))
DOUBTFUL: dict[str, type[IndexTablesError]] = {
    "READ": StorageUnavailableError,
    "LIST": StorageUnavailableError,
    "CREATE": OutcomeUnknownError,
    "CHANGE": OutcomeUnknownError,
}
EXPECTED: dict[str, dict[str, type[IndexTablesError]]] = {
    "FileNotFoundError": dict.fromkeys(EVERYWHERE, NotFoundError),
    "NotFoundError": dict.fromkeys(EVERYWHERE, NotFoundError),
    "AlreadyExistsError": {**DOUBTFUL, "CREATE": AlreadyExistsError},
    "PreconditionError": {**DOUBTFUL, "CREATE": AlreadyExistsError},
    "PermissionDeniedError": dict.fromkeys(EVERYWHERE, PermissionDeniedError),
    "UnauthenticatedError": dict.fromkeys(EVERYWHERE, PermissionDeniedError),
    "NotSupportedError": dict.fromkeys(EVERYWHERE, UnsupportedStoreError),
    "NotImplementedError": dict.fromkeys(EVERYWHERE, UnsupportedStoreError),
    "InvalidPathError": dict.fromkeys(EVERYWHERE, UnsafePathError),
    "ValueError": dict.fromkeys(EVERYWHERE, UnsafePathError),
    **dict.fromkeys(
        ("BaseError", "GenericError", "JoinError", "NotModifiedError", "OSError", "UnknownConfigurationKeyError"),
        DOUBTFUL,
    ),
}


class TestTranslation:
    def test_every_error_that_obstore_has_is_decided_on(self) -> None:
        assert set(_foreign_errors().values()) == set(_MEANINGS)
        assert set(_foreign_errors()) == set(EXPECTED)

    @pytest.mark.parametrize("call", list(_Call))
    @pytest.mark.parametrize("name", sorted(EXPECTED))
    def test_each_error_has_one_meaning_a_call_and_tells_no_secret(self, name: str, call: _Call) -> None:
        texts = [
            f"GET http://h/b?X-Amz-Signature={CANARY} - status code: 403 Forbidden: <Code>No</Code>{CANARY}\n{CANARY}",
            f"GET http://h/b?X-Amz-Signature={CANARY} failed for {CANARY}\nauthorization: {CANARY}",
        ]
        for text in texts:
            error = _foreign_errors()[name](text)
            error.__context__ = foreign.GenericError(
                text
            )  # as where one call fails while another's failure is looked into
            ours = _translate(error, call, path="d/a", store="s3://b", secrets=[Secret(CANARY)])
            ours.__cause__ = error
            assert type(ours) is (StorageError if call is _Call.OPEN else EXPECTED[name][call.name])
            shown = "".join(traceback.format_exception(ours)) + repr(vars(ours)) + repr(ours.__cause__)
            assert CANARY not in shown
            assert CANARY.encode() not in pickle.dumps(ours)
            assert name in shown


FORKED = """
import os, sys
from indextables.errors import StorageError
from indextables.storage.object_store import open_object_store

store = open_object_store(sys.argv[1], options=dict(argument.split("=", 1) for argument in sys.argv[2:]))
if os.fork() == 0:
    store.put("child", b"used first in the child")
    os._exit(0)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
assert store.get("child") == b"used first in the child"
if os.fork() == 0:
    try:
        store.get("child")
    except StorageError as error:
        os._exit(7 if "by spawning" in str(error) else 1)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 7
"""


class TestForks:
    def test_a_child_of_a_process_that_used_a_store_is_told_so_instead_of_waiting_for_ever(
        self, bucket: S3Endpoint
    ) -> None:
        options = [f"{key}={value}" for key, value in bucket.options().items()]
        command = [sys.executable, "-c", FORKED, f"s3://{bucket.bucket}", *options]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert ended.returncode == 0, ended.stderr


class TestSecrecy:
    def test_a_store_shows_no_secret(self) -> None:
        options = {
            "spark.indextables.aws.accessKey": f"id-{CANARY}",
            "spark.indextables.aws.secretKey": CANARY,
            "spark.indextables.aws.sessionToken": CANARY,
        }
        store = open_object_store("s3://bucket/t", options=options)
        assert CANARY not in repr(store) + str(store) + store.url + repr(vars(store))
