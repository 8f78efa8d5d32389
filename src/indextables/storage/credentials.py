"""Where a store's credentials and endpoint come from, and how they stay out of sight.

One order for everything: our own options, then Hadoop's keys, then the usual environment variables. Keys and secrets that
belong together are taken from one source together, never mixed. obstore reads the environment by itself and lets some variables
win over what it is told, so whatever is decided here is passed on completely. What is decided nowhere is left to it: roles,
container and instance credentials, Google's application default, Azure's variables.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from indextables.config.secret import MASK, Secret
from indextables.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_HADOOP_IN_SPARK = "spark.hadoop."
_OWN = ("spark.indextables.aws.accessKey", "spark.indextables.aws.secretKey", "spark.indextables.aws.sessionToken")
_HADOOP = ("access.key", "secret.key", "session.token")
_ENVIRONMENT = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
_ENDPOINT_VARIABLES = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")
_REGION_VARIABLES = ("AWS_REGION", "AWS_DEFAULT_REGION")
_STATUS = re.compile(r"status code: (\d{3}(?: [A-Z][A-Za-z-]*)*)")
_CODE = re.compile(r"<Code>(\w{1,80})</Code>")


def safe_texts(text: str, *, secrets: Iterable[Secret]) -> tuple[str, str]:
    """Return what may be shown of a client's error text: the server's verdict, if it gave one, and that or the client's words.

    A server's answer may repeat the request with all its headers, so of one only status and code are kept.
    """
    status, code = _STATUS.search(text), _CODE.search(text)
    verdict = f"the server answered {status[1]}{f', {code[1]}' if code else ''}" if status else ""
    words = verdict or re.sub(r"\?\S*", "?...", text.partition("\n")[0])
    for secret in secrets:
        verdict, words = (shown.replace(secret.reveal(), MASK) for shown in (verdict, words))
    return verdict, words[:300]


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """What a client needs to know besides the bucket, under obstore's names; its repr is safe to print.

    Attributes:
        config: Everything that may be seen.
        secrets: Everything that may not.
        allow_http: Whether the endpoint is a plain `http://` one.
    """

    config: Mapping[str, str | bool]
    secrets: Mapping[str, Secret] = field(default_factory=dict)
    allow_http: bool = False


class _Options:
    """Options by name in any case, with or without the prefix under which Spark keeps Hadoop's; empty ones count as absent."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._values: dict[str, str] = {}
        for key, value in options.items():
            name = key.lower()
            if name.startswith(_HADOOP_IN_SPARK):
                self._values.setdefault(name.removeprefix(_HADOOP_IN_SPARK), value)
            else:
                self._values[name] = value

    def get(self, *keys: str) -> str | None:
        """Return the value of the first of `keys` that is set."""
        found = self.find(keys)
        return found[1] if found else None

    def find(self, keys: Iterable[str]) -> tuple[str, str] | None:
        """Return the first of `keys` that is set, and its value."""
        for key in keys:
            if value := self._values.get(key.lower(), "").strip():
                return key, value
        return None

    def flag(self, *keys: str) -> bool | None:
        """Return the truth value of the first of `keys` that is set.

        Raises:
            ConfigError: It is neither true nor false.
        """
        if (found := self.find(keys)) is None:
            return None
        key, value = found
        if value.lower() not in {"true", "false"}:
            raise ConfigError(key, value, "true or false")
        return value.lower() == "true"


def s3_access(bucket: str, *, options: Mapping[str, str], environ: Mapping[str, str]) -> Access:
    """Return how to reach a bucket on S3 or a server that speaks its language.

    Raises:
        ConfigError: An endpoint is no web address, a flag is neither true nor false, or half of a key pair is missing.
    """
    given, variables = _Options(options), _Options(environ)

    def hadoop(name: str) -> tuple[str, str]:
        return f"fs.s3a.bucket.{bucket}.{name}", f"fs.s3a.{name}"

    secrets = _s3_secrets(bucket, given, variables)
    # The condition is what makes a commit safe, so no variable may switch it off; and every server knows the single delete.
    config: dict[str, str | bool] = {"conditional_put": "etag", "disable_bulk_delete": True}
    if secrets is not None:
        config["skip_signature"] = not secrets
    if region := given.get("spark.indextables.aws.region", *hadoop("endpoint.region")) or variables.get(
        *_REGION_VARIABLES
    ):
        config["region"] = region
    own = given.find(("spark.indextables.aws.endpoint", *hadoop("endpoint")))
    found = own or variables.find(_ENDPOINT_VARIABLES)
    path_style = given.flag("spark.indextables.aws.pathStyleAccess")
    if path_style is None and (own or not found):
        # In a Spark session Hadoop's flag always has a value, which says nothing about an endpoint of the environment.
        path_style = given.flag(*hadoop("path.style.access"))
    endpoint = _web_address(*found, tls=given.flag(*hadoop("connection.ssl.enabled"))) if found else None
    if endpoint is not None:
        path_style = path_style is not False or _is_number(endpoint)
        if not path_style:
            scheme, _, host = endpoint.partition("://")
            endpoint = endpoint if host.startswith(f"{bucket}.") else f"{scheme}://{bucket}.{host}"
        config["endpoint"] = config["aws_endpoint_url_s3"] = endpoint
        config["virtual_hosted_style_request"] = not path_style
    elif path_style is not None:
        config["virtual_hosted_style_request"] = not path_style
    return Access(config=config, secrets=secrets or {}, allow_http=_is_plain(endpoint))


def _s3_secrets(bucket: str, given: _Options, variables: _Options) -> dict[str, Secret] | None:
    """Return a key pair and perhaps its token, nothing for anonymous access, and None where obstore shall look for itself."""
    if pair := _key_pair(given, _OWN):
        return pair
    providers = (f"fs.s3a.bucket.{bucket}.aws.credentials.provider", "fs.s3a.aws.credentials.provider")
    first_provider = (given.get(*providers) or "").split(",")[0].strip().rpartition(".")[2]
    if first_provider.lower().startswith("anonymous"):
        return {}
    for prefix in (f"fs.s3a.bucket.{bucket}.", "fs.s3a."):
        if pair := _key_pair(given, [prefix + name for name in _HADOOP]):
            return pair
    return _key_pair(variables, _ENVIRONMENT)


def _key_pair(source: _Options, keys: Iterable[str]) -> dict[str, Secret] | None:
    id_key, secret_key, token_key = keys
    access, secret, token = source.get(id_key), source.get(secret_key), source.get(token_key)
    if access is None and secret is None:
        return None
    if access is None:
        raise ConfigError(id_key, None, f"the access key that belongs to {secret_key}")
    if secret is None:
        raise ConfigError(secret_key, None, f"the secret key that belongs to {id_key}")
    pair = {"access_key_id": Secret(access), "secret_access_key": Secret(secret)}
    return pair | ({"token": Secret(token)} if token else {})


def gcs_access(*, options: Mapping[str, str]) -> Access:
    """Return how to reach Google Cloud Storage; `GOOGLE_APPLICATION_CREDENTIALS` and the like are obstore's to read.

    Raises:
        ConfigError: An endpoint is no web address, a flag is neither true nor false, or a private key lacks its account.
    """
    given = _Options(options)
    config: dict[str, str | bool] = {}
    secrets: dict[str, Secret] = {}
    account = "fs.gs.auth.service.account"
    if given.flag("fs.gs.auth.null.enabled") or (given.get("fs.gs.auth.type") or "").upper() == "UNAUTHENTICATED":
        config["skip_signature"] = True
    elif key_file := given.get(f"{account}.json.keyfile", "google.cloud.auth.service.account.json.keyfile"):
        config["service_account"] = key_file
    elif private_key := given.get(f"{account}.private.key"):
        email = given.get(f"{account}.email")
        if email is None:
            raise ConfigError(f"{account}.email", None, f"the account that {account}.private.key belongs to")
        document = {
            "type": "service_account",
            "client_email": email,
            "private_key_id": given.get(f"{account}.private.key.id") or "",
            "private_key": private_key.replace("\\n", "\n"),
        }
        secrets["service_account_key"] = Secret(json.dumps(document))
    found = given.find(["fs.gs.storage.root.url"])
    if found:
        config["base_url"] = _web_address(*found, tls=None)
    return Access(config=config, secrets=secrets, allow_http=_is_plain(config.get("base_url")))


def azure_access(host: str | None, *, options: Mapping[str, str]) -> Access:
    """Return how to reach an account on Azure, by its key, a shared access signature or a service principal.

    Args:
        host: For example `account.dfs.core.windows.net`; None leaves account and credentials to Azure's variables.
        options: Hadoop's keys, each looked up for this account first.

    Raises:
        ConfigError: A service principal's endpoint does not name its tenant.
    """
    if host is None:
        return Access(config={})
    given = _Options(options)
    account, _, domain = host.partition(".")
    domain = domain.partition(".")[2]

    def setting(name: str) -> str | None:
        return given.get(*(f"{name}.{account}.{kind}.{domain}" for kind in ("dfs", "blob")), name)

    config: dict[str, str | bool] = {"account_name": account, "endpoint": f"https://{account}.blob.{domain}"}
    kind = (setting("fs.azure.account.auth.type") or "").lower()
    client = "fs.azure.account.oauth2.client"
    if kind in {"", "sharedkey"} and (key := setting("fs.azure.account.key")):
        config["credential_type"] = "access_key"
        return Access(config=config, secrets={"account_key": Secret(key)})
    if kind in {"", "sas"} and (signature := setting("fs.azure.sas.fixed.token")):
        config["credential_type"] = "sas_token"
        return Access(config=config, secrets={"sas_key": Secret(signature.removeprefix("?"))})
    if kind in {"", "oauth"} and (secret := setting(f"{client}.secret")):
        endpoint = _web_address(f"{client}.endpoint", setting(f"{client}.endpoint") or "", tls=None)
        parts = urlsplit(endpoint)
        tenant = parts.path.strip("/").partition("/")[0]
        identity = setting(f"{client}.id")
        if not tenant or parts.scheme != "https":
            raise ConfigError(f"{client}.endpoint", endpoint, "https://login.microsoftonline.com/TENANT/oauth2/token")
        if not identity:
            raise ConfigError(f"{client}.id", None, f"the application that {client}.secret belongs to")
        config |= {
            "credential_type": "client_secret",
            "client_id": identity,
            "tenant_id": tenant,
            "authority_host": f"https://{parts.netloc}",
        }
        return Access(config=config, secrets={"client_secret": Secret(secret)})
    return Access(config=config)


def _web_address(key: str, value: str, *, tls: bool | None) -> str:
    """Return an endpoint with its scheme, which Hadoop leaves out at times.

    Raises:
        ConfigError: It is no web address, or carries a password or a query; neither is repeated.
    """
    address = value if "://" in value else f"{'http' if tls is False else 'https'}://{value}"
    try:
        parts = urlsplit(address)
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if "@" in address or "?" in address or "#" in address:
        raise ConfigError(key, MASK, "a web address without user, password, query or fragment")
    if not usable:
        raise ConfigError(key, value, "a web address such as https://s3.eu-west-1.amazonaws.com")
    return address.rstrip("/")


def _is_number(address: str) -> bool:
    """Tell whether a host is a bare IP address, which no bucket's name can stand in front of."""
    try:
        ip_address(urlsplit(address).hostname or "")
    except ValueError:
        return False
    return True


def _is_plain(address: str | bool | None) -> bool:
    return isinstance(address, str) and address.lower().startswith("http://")
