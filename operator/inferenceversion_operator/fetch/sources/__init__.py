"""Where models come from: a file a scheme, each a function from the plan to blobs."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from inferenceversion_operator.fetch.errors import invalid, shown
from inferenceversion_operator.fetch.limits import Budget
from inferenceversion_operator.fetch.net.http import Client
from inferenceversion_operator.fetch.net.resume import Retry
from inferenceversion_operator.fetch.plan import Plan


@dataclass(frozen=True, slots=True)
class Blob:
    """One file of a source, read once, before the next one is asked for.

    Args:
        path: relative to the source; ``""`` when the source is this one file, an archive or the weights.
        chunks: its bytes.
        size: as announced; for progress and early refusal alone.
        executable: kept, as the one bit of a mode that matters.
    """

    path: str
    chunks: Iterator[bytes]
    size: int | None = None
    executable: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """What sources are given beside the plan."""

    env: Mapping[str, str]  # of the Secret sourceSecretRef, among the rest
    budget: Budget
    retry: Retry

    def client(self, plan: Plan, authorization: str | None = None, *, insecure: bool = False) -> Client:
        """Return the HTTP client for a source; the Secret may bring a CA of its own in ``CA_CERTIFICATES``, as PEM."""
        return Client(
            authorization,
            ca_pem=self.env.get("CA_CERTIFICATES"),
            allow_insecure=insecure or plan.allow_insecure,
            allow_loopback=plan.allow_loopback,
            read_seconds=min(30, self.retry.stall_seconds),
        )


Source = Callable[[Plan, Context], Iterator[Blob]]


def source_of(plan: Plan) -> Source:
    """Return the source for the plan's scheme; what a scheme needs is imported with it."""
    scheme = plan.source.partition("://")[0].lower() if "://" in plan.source else ""
    if scheme in ("image", "pvc", "oci"):
        from inferenceversion_operator.fetch.sources.mounted import blobs  # noqa: PLC0415
    elif scheme in ("https", "http"):
        from inferenceversion_operator.fetch.sources.https import blobs  # noqa: PLC0415
    elif scheme in ("s3", "gs"):
        from inferenceversion_operator.fetch.sources.objects import blobs  # noqa: PLC0415
    elif scheme == "hf":
        from inferenceversion_operator.fetch.sources.hub import blobs  # noqa: PLC0415
    else:
        raise invalid(
            f"model.source begins with '{shown(scheme or plan.source[:20])}': it must be one of "
            "image://, pvc://, oci://, https://, s3://, gs://, hf://"
        )
    return blobs
