"""``s3://`` and ``gs://``: obstore lists and signs, our own HTTP client downloads.

So the bytes take the same road as those of ``https://``: checked addresses, no redirect into the node, resumed.
A URL that names an object is that object; otherwise it is a prefix, and all below it are the files of a folder.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from urllib.parse import quote

import obstore
from obstore.exceptions import BaseError

from inferenceversion_operator.api.archive import kind_of
from inferenceversion_operator.fetch.errors import FetchError, Reason, invalid, shown
from inferenceversion_operator.fetch.net.address import check_endpoint
from inferenceversion_operator.fetch.net.download import Download
from inferenceversion_operator.fetch.net.http import Client
from inferenceversion_operator.fetch.net.resume import steady_call
from inferenceversion_operator.fetch.plan import Plan
from inferenceversion_operator.fetch.sources import Blob, Context
from inferenceversion_operator.fetch.sources.stores import Bucket, classify_store_error, gcs_bucket, s3_bucket

_SIGNED_FOR = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class _Reader:
    plan: Plan
    context: Context
    bucket: Bucket
    client: Client

    def blob(self, key: str, path: str, size: int | None = None) -> Blob:
        packed = not path and kind_of(self.plan.source) is not None
        download = Download(self.client, lambda: self._address(key), self.context.budget, packed=packed)
        return Blob(path, download.chunks(self.context.retry), size)

    def _address(self, key: str) -> str:
        if self.bucket.anonymous:
            return f"{self.bucket.url}/{quote(key)}"
        try:
            return obstore.sign(self.bucket.store, "GET", key, _SIGNED_FOR)
        except (BaseError, OSError) as error:
            raise classify_store_error(error, self.plan.source) from None

    def below(self, prefix: str) -> Iterator[Blob]:
        """Yield the objects below ``prefix`` in the order of their keys."""
        found = steady_call(lambda: self._list(prefix), self.context.retry, self.plan.source)
        if not found:
            raise FetchError(Reason.SOURCE_NOT_FOUND, f"{self.plan.source}: no such object, and none below it")
        for key in sorted(found):
            yield self.blob(key, key.removeprefix(prefix), found[key])

    def _list(self, prefix: str) -> dict[str, int]:
        found: dict[str, int] = {}
        try:
            for chunk in obstore.list(self.bucket.store, prefix.rstrip("/") or None, chunk_size=1000):
                for entry in chunk:
                    key, size = entry["path"], entry["size"]
                    if key.startswith(prefix) and (size or not key.endswith("/")) and key != prefix.rstrip("/"):
                        found[key] = size
                if len(found) > self.context.budget.limits.max_files:
                    break  # more than the budget takes: the first file too many says so
        except (BaseError, OSError) as error:
            raise classify_store_error(error, self.plan.source) from None
        return found


def blobs(plan: Plan, context: Context) -> Iterator[Blob]:
    scheme, _, rest = plan.source.partition("://")
    name, _, key = rest.partition("/")
    if not name or "?" in rest or "#" in rest or "//" in key:
        raise invalid(f"{shown(plan.source)} is not {scheme}://<bucket>/<key or prefix>")
    make: Callable[..., Bucket] = s3_bucket if scheme.lower() == "s3" else gcs_bucket
    bucket = make(name, context)
    check_endpoint(bucket.url, allow_loopback=plan.allow_loopback)
    insecure = bucket.url.startswith("http://")  # only where the Secret's endpoint says so
    reader = _Reader(plan, context, bucket, context.client(plan, insecure=insecure))
    if not key or key.endswith("/"):
        yield from reader.below(key)
        return
    blob = reader.blob(key, "")
    try:
        first = next(blob.chunks, b"")
    except FetchError as error:
        if error.reason is not Reason.SOURCE_NOT_FOUND:
            raise
    else:
        yield Blob("", _joined(first, blob.chunks))
        return
    yield from reader.below(f"{key}/")


def _joined(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest
