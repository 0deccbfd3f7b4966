"""``https://``: one URL, an archive or a single file."""

from collections.abc import Iterator

from inferenceversion_operator.api.archive import kind_of
from inferenceversion_operator.fetch.net.download import Download
from inferenceversion_operator.fetch.net.http import authorization_of
from inferenceversion_operator.fetch.plan import Plan
from inferenceversion_operator.fetch.sources import Blob, Context


def blobs(plan: Plan, context: Context) -> Iterator[Blob]:
    client = context.client(plan, authorization_of(context.env))
    packed = kind_of(plan.source) is not None
    download = Download(client, lambda: plan.source, context.budget, packed=packed)
    yield Blob("", download.chunks(context.retry))
