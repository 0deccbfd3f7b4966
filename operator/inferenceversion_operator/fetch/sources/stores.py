"""Buckets of S3 and GCS, from the environment that the Secret gives: only names that are listed here have a meaning.

The libraries' own search for credentials is not used: the node's role (instance metadata) is not the user's.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError
from obstore.store import GCSStore, S3Store

from inferenceversion_operator.fetch.errors import BrokenError, FetchError, Reason, invalid
from inferenceversion_operator.fetch.sources import Context

_GCS = "https://storage.googleapis.com"
_REGION = re.compile(r"[a-z0-9-]{1,32}")
_BUCKET = re.compile(r"[a-zA-Z0-9][-._a-zA-Z0-9]{1,220}")
_EKS_TOKEN = "/var/run/secrets/eks.amazonaws.com/"  # noqa: S105 - a path
_RETRY: Any = {"max_retries": 0, "retry_timeout": timedelta(seconds=30)}  # we try again ourselves


@dataclass(frozen=True, slots=True)
class Bucket:
    store: S3Store | GCSStore
    url: str  # of the bucket, without a slash at its end
    anonymous: bool


def s3_bucket(name: str, context: Context) -> Bucket:
    """Return the bucket by the names that the AWS SDKs use."""
    env = context.env
    region = env.get("AWS_REGION") or env.get("AWS_DEFAULT_REGION") or "us-east-1"
    if not _REGION.fullmatch(region) or not _BUCKET.fullmatch(name):
        raise invalid("the name of the bucket or AWS_REGION has characters that none has")
    endpoint = (env.get("AWS_ENDPOINT_URL_S3") or env.get("AWS_ENDPOINT_URL") or "").rstrip("/")
    url = f"{endpoint}/{name}" if endpoint else f"https://{name}.s3.{region}.amazonaws.com"
    credentials = _s3_credentials(env)
    if endpoint:
        config: dict[str, Any] = {"endpoint": endpoint}
    else:
        config = {"virtual_hosted_style_request": True}
    store = S3Store(
        name,
        region=region,
        client_options=_client_options(env, endpoint),
        retry_config=_RETRY,
        skip_signature=not credentials,
        **config,
        **credentials,
    )
    return Bucket(store, url, anonymous=not credentials)


def _s3_credentials(env: Mapping[str, str]) -> dict[str, Any]:
    key, secret = env.get("AWS_ACCESS_KEY_ID"), env.get("AWS_SECRET_ACCESS_KEY")
    if key and secret:
        token = env.get("AWS_SESSION_TOKEN")
        return {"access_key_id": key, "secret_access_key": secret} | ({"session_token": token} if token else {})
    if key or secret:
        raise FetchError(Reason.SOURCE_FORBIDDEN, "one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is missing")
    role, file = env.get("AWS_ROLE_ARN"), env.get("AWS_WEB_IDENTITY_TOKEN_FILE", "")
    if role and file.startswith(_EKS_TOKEN) and ".." not in file:  # the service account's role, given by EKS
        return {"role_arn": role, "web_identity_token_file": file}
    return {}


def gcs_bucket(name: str, context: Context) -> Bucket:
    """Return the bucket; the key of a service account is in GOOGLE_SERVICE_ACCOUNT_KEY, as JSON."""
    env = context.env
    if not _BUCKET.fullmatch(name):
        raise invalid("the name of the bucket has characters that none has")
    endpoint = (env.get("STORAGE_EMULATOR_HOST") or _GCS).rstrip("/")
    key = env.get("GOOGLE_SERVICE_ACCOUNT_KEY")
    try:
        config: dict[str, Any] = {"service_account_key": _service_account(key)} if key else {"skip_signature": True}
        store = GCSStore(
            name,
            base_url=endpoint,
            client_options=_client_options(env, endpoint),
            retry_config=_RETRY,
            **config,
        )
    except (BaseError, ValueError, KeyError, TypeError, RecursionError):
        raise FetchError(
            Reason.SOURCE_FORBIDDEN, "GOOGLE_SERVICE_ACCOUNT_KEY is not the key of a service account"
        ) from None
    return Bucket(store, f"{endpoint}/{name}", anonymous=not key)


def _service_account(text: str) -> str:
    """Return the key without what may stand beside it: the library would take another endpoint from there."""
    key = json.loads(text)
    return json.dumps({name: str(key[name]) for name in ("client_email", "private_key", "private_key_id")})


def _client_options(env: Mapping[str, str], endpoint: str) -> Any:
    options: dict[str, Any] = {"allow_http": endpoint.startswith("http://"), "read_timeout": timedelta(seconds=30)}
    file = Path(env.get("SSL_CERT_FILE", ""))
    own_ca = env.get("CA_CERTIFICATES") or (file.read_text() if file.is_file() else None)
    if own_ca:
        options["root_certificate"] = own_ca
    return options


def classify_store_error(error: Exception, source: str) -> Exception:
    """Return what an error of the library means; its text is not passed on, it quotes answers of the server."""
    if isinstance(error, (FetchError, BrokenError)):
        return error
    if isinstance(error, FileNotFoundError):
        return FetchError(Reason.SOURCE_NOT_FOUND, f"{source}: no such bucket or object")
    text = str(error)
    status = re.search(r"status(?: code)?: ([45]\d\d)", text)
    code = re.search(r"<Code>([A-Za-z]{1,60})</Code>", text)
    said = f"HTTP {status[1]} {code[1] if code else ''}".strip() if status else type(error).__name__
    if status and status[1] == "404":
        return FetchError(Reason.SOURCE_NOT_FOUND, f"{source}: {said}")
    if isinstance(error, (PermissionDeniedError, UnauthenticatedError)) or (status and status[1] in ("401", "403")):
        hint = "check the credentials in the Secret of model.sourceSecretRef"
        return FetchError(Reason.SOURCE_FORBIDDEN, f"{source}: {said}; {hint}")
    if status and status[1].startswith("4") and status[1] not in ("408", "429"):
        return invalid(f"{source}: {said}")
    return BrokenError(f"the object store can't be reached ({said})")
