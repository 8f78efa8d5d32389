from __future__ import annotations

import json

import pytest

from indextables.config.secret import Secret
from indextables.errors import ConfigError
from indextables.storage.credentials import Access, azure_access, gcs_access, s3_access, safe_texts

CANARY = "canary-secret-do-not-show"
ANONYMOUS = "org.apache.hadoop.fs.s3a.AnonymousAWSCredentialsProvider"


def s3(options: dict[str, str], environ: dict[str, str] | None = None, *, bucket: str = "sales") -> Access:
    return s3_access(bucket, options=options, environ=environ or {})


def revealed(access: Access) -> dict[str, str]:
    return {name: secret.reveal() for name, secret in access.secrets.items()}


def own(key: str = "own-id", secret: str = "own-secret") -> dict[str, str]:
    return {"spark.indextables.aws.accessKey": key, "spark.indextables.aws.secretKey": secret}


def hadoop(prefix: str = "fs.s3a.", name: str = "hadoop") -> dict[str, str]:
    return {f"{prefix}access.key": f"{name}-id", f"{prefix}secret.key": f"{name}-secret"}


ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "env-id", "AWS_SECRET_ACCESS_KEY": "env-secret", "AWS_SESSION_TOKEN": "env-token"}


class TestS3Keys:
    def test_our_options_win_over_hadoop_and_environment(self) -> None:
        access = s3(own() | hadoop(), ENVIRONMENT)
        assert revealed(access) == {"access_key_id": "own-id", "secret_access_key": "own-secret"}

    def test_hadoops_keys_win_over_the_environment(self) -> None:
        assert revealed(s3(hadoop(), ENVIRONMENT))["access_key_id"] == "hadoop-id"

    def test_a_buckets_own_keys_win_over_the_general_ones(self) -> None:
        options = hadoop() | hadoop("fs.s3a.bucket.sales.", "bucket") | hadoop("fs.s3a.bucket.other.", "other")
        assert revealed(s3(options))["secret_access_key"] == "bucket-secret"

    def test_the_environment_is_the_last_source(self) -> None:
        assert revealed(s3({}, ENVIRONMENT)) == {
            "access_key_id": "env-id",
            "secret_access_key": "env-secret",
            "token": "env-token",
        }

    def test_a_token_of_one_source_never_joins_the_keys_of_another(self) -> None:
        options = own() | hadoop() | {"fs.s3a.session.token": "hadoop-token"}
        assert "token" not in revealed(s3(options, ENVIRONMENT))

    def test_a_session_token_comes_with_its_keys(self) -> None:
        options = own() | {"spark.indextables.aws.sessionToken": "own-token"}
        assert revealed(s3(options))["token"] == "own-token"

    def test_names_are_case_insensitive_and_may_carry_sparks_prefix(self) -> None:
        options = {"SPARK.hadoop.FS.S3A.Access.Key": "id", "spark.hadoop.fs.s3a.secret.key": "secret"}
        assert revealed(s3(options)) == {"access_key_id": "id", "secret_access_key": "secret"}

    def test_a_bare_hadoop_key_wins_over_the_prefixed_one_in_either_order(self) -> None:
        pairs = [("fs.s3a.endpoint.region", "bare"), ("spark.hadoop.fs.s3a.endpoint.region", "prefixed")]
        assert s3(dict(pairs)).config["region"] == "bare"
        assert s3(dict(reversed(pairs))).config["region"] == "bare"

    def test_empty_values_count_as_absent(self) -> None:
        assert revealed(s3(own("", " "), ENVIRONMENT))["access_key_id"] == "env-id"

    @pytest.mark.parametrize("missing", ["spark.indextables.aws.accessKey", "spark.indextables.aws.secretKey"])
    def test_half_a_pair_is_an_error_that_names_the_missing_half(self, missing: str) -> None:
        options = own(CANARY, CANARY)
        del options[missing]
        with pytest.raises(ConfigError, match=missing) as caught:
            s3(options, ENVIRONMENT)
        assert caught.value.key == missing
        assert CANARY not in str(caught.value)

    def test_with_keys_requests_are_signed_whatever_the_environment_says(self) -> None:
        assert s3(own()).config["skip_signature"] is False

    def test_without_any_key_the_client_looks_for_roles_itself(self) -> None:
        access = s3({})
        assert access.secrets == {}
        assert "skip_signature" not in access.config

    @pytest.mark.parametrize(
        "provider", [ANONYMOUS, f" {ANONYMOUS},other.Provider", "com.amazonaws.auth.AnonymousAWSCredentials"]
    )
    def test_hadoops_anonymous_provider_sends_no_signature(self, provider: str) -> None:
        access = s3(hadoop() | {"fs.s3a.aws.credentials.provider": provider}, ENVIRONMENT)
        assert access.config["skip_signature"] is True
        assert access.secrets == {}

    def test_our_own_keys_win_over_the_anonymous_provider(self) -> None:
        access = s3(own() | {"fs.s3a.aws.credentials.provider": ANONYMOUS})
        assert access.config["skip_signature"] is False
        assert revealed(access)["access_key_id"] == "own-id"


class TestS3Endpoint:
    def test_the_order_is_ours_then_buckets_then_hadoops_then_environments(self) -> None:
        options = {
            "spark.indextables.aws.endpoint": "https://own",
            "fs.s3a.bucket.sales.endpoint": "https://bucket",
            "fs.s3a.endpoint": "https://hadoop",
        }
        environ = {"AWS_ENDPOINT_URL": "https://general", "AWS_ENDPOINT_URL_S3": "https://special"}
        seen = []
        while options:
            seen.append(s3(options, environ).config["endpoint"])
            options.pop(next(iter(options)))
        assert seen == ["https://own", "https://bucket", "https://hadoop"]
        assert s3({}, environ).config["endpoint"] == "https://special"
        assert s3({}, {"AWS_ENDPOINT_URL": "https://general"}).config["endpoint"] == "https://general"

    def test_a_variable_for_s3_alone_cannot_win_over_an_option(self) -> None:
        config = s3({"fs.s3a.endpoint": "https://hadoop"}, {"AWS_ENDPOINT_URL_S3": "https://special"}).config
        assert config["aws_endpoint_url_s3"] == "https://hadoop"

    @pytest.mark.parametrize(
        ("endpoint", "tls", "expected", "plain"),
        [
            ("http://127.0.0.1:9000", None, "http://127.0.0.1:9000", True),
            ("HTTP://127.0.0.1:9000/", None, "HTTP://127.0.0.1:9000", True),
            ("https://minio:9000/", "false", "https://minio:9000", False),
            ("minio:9000", None, "https://minio:9000", False),
            ("minio:9000", "true", "https://minio:9000", False),
            ("minio:9000", "false", "http://minio:9000", True),
            ("s3.eu-west-1.amazonaws.com", None, "https://s3.eu-west-1.amazonaws.com", False),
        ],
    )
    def test_a_scheme_is_added_and_only_plain_ones_allow_http(
        self, endpoint: str, tls: str | None, expected: str, plain: bool
    ) -> None:
        options = {"fs.s3a.endpoint": endpoint} | ({"fs.s3a.connection.ssl.enabled": tls} if tls else {})
        access = s3(options)
        assert access.config["endpoint"] == expected
        assert access.allow_http is plain

    def test_without_an_endpoint_http_is_refused(self) -> None:
        assert s3({}).allow_http is False

    @pytest.mark.parametrize(
        "endpoint", ["ftp://host", "http://", "https://host:port", "https://host:0", "file:///etc"]
    )
    def test_no_web_address_is_an_error_that_names_the_key(self, endpoint: str) -> None:
        with pytest.raises(ConfigError, match=r"fs\.s3a\.endpoint"):
            s3({"fs.s3a.endpoint": endpoint})

    @pytest.mark.parametrize(
        "endpoint", [f"https://user:{CANARY}@host", f"https://host/?sig={CANARY}", f"user:{CANARY}@host", f"h#{CANARY}"]
    )
    def test_an_endpoint_with_a_password_or_a_query_is_refused_and_not_repeated(self, endpoint: str) -> None:
        with pytest.raises(ConfigError, match=r"spark\.indextables\.aws\.endpoint") as caught:
            s3({"spark.indextables.aws.endpoint": endpoint})
        assert CANARY not in repr(caught.value) + str(caught.value) + repr(vars(caught.value))

    @pytest.mark.parametrize(
        ("path_style", "endpoint", "expected", "in_host"),
        [
            (None, "https://minio", "https://minio", False),
            ("true", "https://minio", "https://minio", False),
            ("False", "https://minio", "https://sales.minio", True),
            ("false", "https://sales.minio", "https://sales.minio", True),
        ],
    )
    def test_the_bucket_goes_into_the_host_only_if_path_style_is_switched_off(
        self, path_style: str | None, endpoint: str, expected: str, in_host: bool
    ) -> None:
        options = {"fs.s3a.endpoint": endpoint} | ({"fs.s3a.path.style.access": path_style} if path_style else {})
        config = s3(options).config
        assert config["endpoint"] == expected
        assert config["virtual_hosted_style_request"] is in_host

    @pytest.mark.parametrize("endpoint", ["http://127.0.0.1:9000", "http://[::1]:9000"])
    def test_no_bucket_goes_in_front_of_an_ip_address(self, endpoint: str) -> None:
        access = s3({"fs.s3a.endpoint": endpoint, "fs.s3a.path.style.access": "false"})
        assert access.config["endpoint"] == endpoint
        assert access.config["virtual_hosted_style_request"] is False

    def test_hadoops_flag_says_nothing_about_an_endpoint_of_the_environment(self) -> None:
        environ = {"AWS_ENDPOINT_URL": "http://minio:9000"}
        access = s3_access("bucket", options={"fs.s3a.path.style.access": "false"}, environ=environ)
        assert access.config["endpoint"] == "http://minio:9000"
        own = {"spark.indextables.aws.pathStyleAccess": "false"}
        assert s3_access("bucket", options=own, environ=environ).config["endpoint"] == "http://bucket.minio:9000"

    def test_path_style_without_an_endpoint_is_passed_on(self) -> None:
        key = "spark.indextables.aws.pathStyleAccess"
        assert s3({key: "true"}).config["virtual_hosted_style_request"] is False
        assert s3({key: "false"}).config["virtual_hosted_style_request"] is True
        assert "virtual_hosted_style_request" not in s3({}).config

    def test_a_flag_that_is_neither_true_nor_false_is_an_error(self) -> None:
        with pytest.raises(ConfigError, match=r"fs\.s3a\.path\.style\.access is set to 'maybe'.*true or false"):
            s3({"fs.s3a.path.style.access": "maybe"})

    def test_the_region_follows_the_same_order(self) -> None:
        environ = {"AWS_DEFAULT_REGION": "r4", "AWS_REGION": "r3"}
        hadoops = {"fs.s3a.endpoint.region": "r2"}
        assert s3({"spark.indextables.aws.region": "r1"} | hadoops, environ).config["region"] == "r1"
        assert s3(hadoops, environ).config["region"] == "r2"
        assert s3({}, environ).config["region"] == "r3"
        assert "region" not in s3({}).config

    def test_no_variable_can_switch_conditional_writes_off(self) -> None:
        assert s3({}, {"AWS_CONDITIONAL_PUT": "disabled"}).config["conditional_put"] == "etag"


class TestGcs:
    def test_a_key_file_is_a_service_account(self) -> None:
        access = gcs_access(options={"spark.hadoop.fs.gs.auth.service.account.json.keyfile": "/keys/a.json"})
        assert access == Access(config={"service_account": "/keys/a.json"})

    def test_the_older_name_of_the_key_file_counts_too(self) -> None:
        access = gcs_access(options={"google.cloud.auth.service.account.json.keyfile": "/keys/a.json"})
        assert access.config == {"service_account": "/keys/a.json"}

    def test_a_private_key_becomes_a_secret_document(self) -> None:
        account = "fs.gs.auth.service.account"
        access = gcs_access(
            options={
                f"{account}.email": "robot@example.com",
                f"{account}.private.key.id": "7",
                f"{account}.private.key": f"BEGIN\\n{CANARY}\\nEND",
            }
        )
        assert access.config == {}
        assert json.loads(access.secrets["service_account_key"].reveal()) == {
            "type": "service_account",
            "client_email": "robot@example.com",
            "private_key_id": "7",
            "private_key": f"BEGIN\n{CANARY}\nEND",
        }
        assert CANARY not in repr(access)

    def test_a_private_key_without_its_account_is_an_error(self) -> None:
        with pytest.raises(ConfigError, match=r"fs\.gs\.auth\.service\.account\.email") as caught:
            gcs_access(options={"fs.gs.auth.service.account.private.key": CANARY})
        assert CANARY not in str(caught.value)

    @pytest.mark.parametrize("options", [{"fs.gs.auth.type": "unauthenticated"}, {"fs.gs.auth.null.enabled": "true"}])
    def test_anonymous_access_sends_no_signature(self, options: dict[str, str]) -> None:
        assert gcs_access(options=options).config == {"skip_signature": True}

    def test_another_server_may_be_plain_http(self) -> None:
        access = gcs_access(options={"fs.gs.storage.root.url": "http://127.0.0.1:4443/"})
        assert access == Access(config={"base_url": "http://127.0.0.1:4443"}, allow_http=True)

    def test_without_options_everything_is_left_to_the_environment(self) -> None:
        assert gcs_access(options={}) == Access(config={})


HOST = "lake.dfs.core.windows.net"
ACCOUNT = {"account_name": "lake", "endpoint": "https://lake.blob.core.windows.net"}


class TestAzure:
    @pytest.mark.parametrize("suffix", [f".{HOST}", ".lake.blob.core.windows.net", ""])
    def test_an_account_key_is_found_under_each_of_hadoops_names(self, suffix: str) -> None:
        access = azure_access(HOST, options={f"spark.hadoop.fs.azure.account.key{suffix}": CANARY})
        assert access.config == ACCOUNT | {"credential_type": "access_key"}
        assert access.secrets == {"account_key": Secret(CANARY)}
        assert CANARY not in repr(access)

    def test_the_accounts_own_key_wins_over_the_general_one(self) -> None:
        options = {"fs.azure.account.key": "general", f"fs.azure.account.key.{HOST}": "own"}
        assert revealed(azure_access(HOST, options=options)) == {"account_key": "own"}

    def test_another_accounts_key_is_never_sent(self) -> None:
        access = azure_access(HOST, options={"fs.azure.account.key.other.dfs.core.windows.net": CANARY})
        assert access == Access(config=ACCOUNT)

    def test_a_shared_access_signature_loses_its_question_mark(self) -> None:
        access = azure_access(HOST, options={f"fs.azure.sas.fixed.token.{HOST}": f"?sv=1&sig={CANARY}"})
        assert access.config == ACCOUNT | {"credential_type": "sas_token"}
        assert revealed(access) == {"sas_key": f"sv=1&sig={CANARY}"}

    def test_a_service_principal_takes_its_tenant_from_the_endpoint(self) -> None:
        client = "fs.azure.account.oauth2.client"
        access = azure_access(
            HOST,
            options={
                f"fs.azure.account.auth.type.{HOST}": "OAuth",
                f"fs.azure.account.key.{HOST}": "not to be used",
                f"{client}.id.{HOST}": "app",
                f"{client}.secret.{HOST}": CANARY,
                f"{client}.endpoint.{HOST}": "https://login.microsoftonline.com/tenant-7/oauth2/token",
            },
        )
        assert access.config == ACCOUNT | {
            "credential_type": "client_secret",
            "client_id": "app",
            "tenant_id": "tenant-7",
            "authority_host": "https://login.microsoftonline.com",
        }
        assert revealed(access) == {"client_secret": CANARY}

    @pytest.mark.parametrize(
        ("endpoint", "identity", "key"),
        [
            ("", "app", "endpoint"),
            ("https://login.microsoftonline.com", "app", "endpoint"),
            ("http://login.microsoftonline.com/tenant/oauth2/token", "app", "endpoint"),
            ("https://login.microsoftonline.com/tenant/oauth2/token", "", "id"),
        ],
    )
    def test_half_a_service_principal_is_an_error(self, endpoint: str, identity: str, key: str) -> None:
        client = "fs.azure.account.oauth2.client"
        options = {f"{client}.secret": CANARY, f"{client}.endpoint": endpoint, f"{client}.id": identity}
        with pytest.raises(ConfigError) as caught:
            azure_access(HOST, options=options)
        assert caught.value.key == f"{client}.{key}"
        assert CANARY not in str(caught.value)

    def test_a_national_cloud_keeps_its_domain(self) -> None:
        access = azure_access("lake.dfs.core.chinacloudapi.cn", options={})
        assert access.config["endpoint"] == "https://lake.blob.core.chinacloudapi.cn"

    def test_without_an_account_everything_is_left_to_the_environment(self) -> None:
        assert azure_access(None, options={"fs.azure.account.key": CANARY}) == Access(config={})


class TestSafeTexts:
    def test_of_an_answer_only_status_and_code_are_kept(self) -> None:
        text = f"PUT http://h/b?X-Amz-Signature={CANARY} - status code: 403 Forbidden: <Code>Denied</Code>{CANARY}\n{CANARY}"
        assert safe_texts(text, secrets=[]) == ("the server answered 403 Forbidden, Denied",) * 2

    def test_without_an_answer_the_clients_words_are_kept_without_queries(self) -> None:
        text = f"Error performing GET http://h/b/k?X-Amz-Signature={CANARY} in 1ms - no route\n\nDebug: {CANARY}"
        assert safe_texts(text, secrets=[]) == ("", "Error performing GET http://h/b/k?... in 1ms - no route")

    def test_known_secrets_are_masked_wherever_they_are_even_at_the_cut(self) -> None:
        text = "x" * 290 + CANARY
        assert safe_texts(text, secrets=[Secret(CANARY)]) == ("", "x" * 290 + "***")
        verdict, _ = safe_texts("status code: 400 Bad Request: <Code>sesame</Code>", secrets=[Secret("sesame")])
        assert verdict == "the server answered 400 Bad Request, ***"
