"""``hf://owner/repo@commit[/folder or file]``: the Hugging Face hub by its documented URLs.

``/api/models/<repo>/tree/<revision>`` lists, ``/<repo>/resolve/<revision>/<file>`` gives (redirecting to storage).
``HF_ENDPOINT`` names a mirror, ``HF_TOKEN`` opens gated and private models.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urljoin

from inferenceversion_operator.api.archive import kind_of
from inferenceversion_operator.fetch.errors import BrokenError, FetchError, Reason, invalid, shown
from inferenceversion_operator.fetch.net.download import Download
from inferenceversion_operator.fetch.net.http import Client, authorization_of
from inferenceversion_operator.fetch.net.resume import steady_call
from inferenceversion_operator.fetch.paths import safe_path
from inferenceversion_operator.fetch.plan import Plan
from inferenceversion_operator.fetch.sources import Blob, Context

_SOURCE = re.compile(
    r"hf://(?P<repo>[A-Za-z0-9][-._A-Za-z0-9]{0,95}/[A-Za-z0-9][-._A-Za-z0-9]{0,95})@(?P<commit>[^/]+)(?:/(?P<path>.+))?"
)
_COMMIT = re.compile(r"[0-9a-f]{40}")
_NEXT = re.compile(r'<([^>]+)>;\s*rel="next"')
_PAGE_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class _Hub:
    url: str
    client: Client
    context: Context
    repo: str
    commit: str

    def files(self) -> dict[str, int]:
        """Return the size of every file of the repository at the commit."""
        found: dict[str, int] = {}
        url: str | None = f"{self.url}/api/models/{self.repo}/tree/{self.commit}?recursive=true&limit=1000"
        while url:
            page, url = steady_call(lambda url=url: self._page(url), self.context.retry, "the hub's list of files")  # type: ignore[misc]
            for entry in page:
                if entry["type"] == "file":
                    found[entry["path"]] = entry["size"]
            if len(found) > self.context.budget.limits.max_files:
                break
        return found

    def _page(self, url: str) -> tuple[list[dict[str, Any]], str | None]:
        with self.client.get(url) as response:
            text = b""
            for chunk in response.chunks():
                text += chunk
                if len(text) > _PAGE_BYTES:
                    raise invalid("the hub's list of files is too long")
            try:
                page = json.loads(text)
                entries = [{"type": str(e["type"]), "path": str(e["path"]), "size": int(e["size"])} for e in page]
            except (ValueError, KeyError, TypeError, RecursionError):
                raise BrokenError("the hub's list of files is not what its API says") from None
            following = _NEXT.search(response.headers.get("link", ""))
            link = urljoin(url, following[1]) if following else None
            if link is not None and not link.startswith(f"{self.url}/"):
                raise invalid("the hub's list of files goes on at another host")
            return entries, link

    def blob(self, name: str, path: str, size: int) -> Blob:
        address = f"{self.url}/{self.repo}/resolve/{self.commit}/{quote(name)}"
        download = Download(self.client, lambda: address, self.context.budget, packed=kind_of(name) is not None)
        return Blob(path, download.chunks(self.context.retry), size)


def blobs(plan: Plan, context: Context) -> Iterator[Blob]:
    match = _SOURCE.fullmatch(plan.source)
    if not match or not _COMMIT.fullmatch(match["commit"]):
        raise invalid(
            f"{shown(plan.source)} is not hf://<owner>/<repo>@<commit>[/<path>] with a commit of 40 hex digits"
        )
    token = context.env.get("HF_TOKEN")
    client = context.client(plan, authorization_of({"HTTP_BEARER_TOKEN": token} if token else {}))
    endpoint = (context.env.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
    hub = _Hub(endpoint, client, context, match["repo"], match["commit"])
    files = hub.files()
    path = safe_path(match["path"] or "", context.budget.limits.max_depth)
    if path in files:
        yield hub.blob(path, "", files[path])
        return
    prefix = f"{path}/" if path else ""
    wanted = sorted(name for name in files if name.startswith(prefix))
    if not wanted:
        raise FetchError(Reason.SOURCE_NOT_FOUND, f"{plan.source}: no such file or folder in the repository")
    for name in wanted:
        yield hub.blob(name, name.removeprefix(prefix), files[name])
