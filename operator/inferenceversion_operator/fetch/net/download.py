"""One URL as a stream that survives broken connections (RFC 9110: Range with If-Range)."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from inferenceversion_operator.fetch.errors import BrokenError, invalid, without_secrets
from inferenceversion_operator.fetch.limits import Budget
from inferenceversion_operator.fetch.net.http import Client, Response, changed
from inferenceversion_operator.fetch.net.resume import Retry, steady

_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+|\*)")


class Download:
    """Remembers what the first answer said, to know the same bytes again.

    Args:
        address: gives the URL anew for each connection: a signed one may have run out.
        packed: it is an archive, which some servers call an encoding.
    """

    def __init__(self, client: Client, address: Callable[[], str], budget: Budget, *, packed: bool = False) -> None:
        self._client = client
        self._address = address
        self._budget = budget
        self._packed = packed
        self._validator: str | None = None
        self._total: int | None = None

    def chunks(self, retry: Retry) -> Iterator[bytes]:
        """Return the bytes of the whole."""
        return steady(self._open_at, retry, without_secrets(self._address()))

    @contextmanager
    def _open_at(self, offset: int) -> Iterator[Iterator[bytes]]:
        headers = {}
        if offset:
            headers["Range"] = f"bytes={offset}-"
            if self._validator:
                headers["If-Range"] = self._validator
        # From the source's own URL each time: where a redirect led may have been signed for minutes only.
        url = self._address()
        with self._client.get(url, headers) as response:
            if not self._packed and response.headers.get("content-encoding", "identity") != "identity":
                raise invalid(f"{without_secrets(url)} is sent encoded, though that was not asked for")
            yield self._body(response, offset, without_secrets(url))

    def _body(self, response: Response, offset: int, where: str) -> Iterator[bytes]:
        if response.status == 206:
            self._check_range(response, offset, where)
            return response.chunks()
        if not offset:
            self._validator = _validator(response)
            self._total = response.length
            self._budget.announce(self._total)
            return response.chunks()
        if (_validator(response), response.length) != (self._validator, self._total):
            raise changed(where)
        return _skip(response.chunks(), offset)  # the server knows no ranges

    def _check_range(self, response: Response, offset: int, where: str) -> None:
        found = _RANGE.fullmatch(response.headers.get("content-range", ""))
        if not found or int(found[1]) != offset or not offset:
            raise BrokenError("the server sent another range than was asked for")
        if self._total is not None and found[3] not in ("*", str(self._total)):
            raise changed(where)


def _validator(response: Response) -> str | None:
    tag = response.headers.get("etag", "")
    return tag if tag and not tag.startswith("W/") else response.headers.get("last-modified")


def _skip(chunks: Iterator[bytes], count: int) -> Iterator[bytes]:
    for chunk in chunks:
        if count >= len(chunk):
            count -= len(chunk)
        else:
            yield chunk[count:]
            count = 0
