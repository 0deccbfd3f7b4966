"""The HTTP session that is lent to prometheus-api-client: with an end in time and in size, and a token that changes."""

import time
from pathlib import Path
from typing import Any

import requests
from requests.auth import AuthBase

from inferenceversion_operator.adapters.prometheus.settings import PrometheusConfig

MOST_BYTES = 1 << 20  # of an answer, unpacked
_CONNECT_S = 3.0


class TokenMissing(Exception):
    """There is no bearer token where one should be; the message says why."""


class TooLarge(Exception):
    """The answer has more than ``MOST_BYTES``."""


class TooSlow(Exception):
    """The answer began in time and did not end in time."""


class Session(requests.Session):
    """A session for one question.

    Attributes:
        answered: the last response; the library keeps only the result of it.
    """

    def __init__(self, config: PrometheusConfig) -> None:
        super().__init__()
        self.answered: requests.Response | None = None
        self._timeout_s = config.timeout_s
        self.verify = config.ca_file or True
        # One look in many seconds: a connection kept for the next one would often be to a pod that is gone.
        self.headers.update({"Connection": "close", "User-Agent": "inferenceversion-operator"})

    def prepare_request(self, request: requests.Request) -> requests.PreparedRequest:
        """Put the parameters of a POST into its body: the library puts them into the URL, which proxies hold short."""
        if request.method == "POST":
            request.data, request.params = request.params, {}
        return super().prepare_request(request)

    def send(self, request: requests.PreparedRequest, **kwargs: Any) -> requests.Response:
        """Send; the body is read when it is wanted, as far as it may be.

        No redirect is followed: the token and the tenant are for the address that was configured.
        """
        until = time.monotonic() + self._timeout_s
        response = super().send(request, **(kwargs | {"stream": True, "allow_redirects": False}))
        response.raw = _Body(response.raw, until)
        self.answered = response
        return response


class Bearer(AuthBase):
    """The token of a file, read when it is needed; without a file nothing, not even what a netrc says."""

    def __init__(self, file: str) -> None:
        self._file = file

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._file:
            request.headers["Authorization"] = f"Bearer {self._token()}"
        return request

    def _token(self) -> str:
        try:
            token = Path(self._file).read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise TokenMissing(f"the token file can't be read: {error}") from error
        if not token or any(not "!" <= letter <= "~" for letter in token):
            raise TokenMissing(f"the token file {self._file} is empty or holds more than one word")
        return token


def timeouts(config: PrometheusConfig) -> tuple[float, float]:
    """Return the seconds until there is a connection, and until something comes on it."""
    return min(_CONNECT_S, config.timeout_s), config.timeout_s


class _Body:
    """A response's body as a file that ends with an error when it is too long in bytes or in seconds.

    A timeout of the socket alone would start again with every byte that trickles in.
    """

    def __init__(self, raw: Any, until: float) -> None:
        self._raw = raw
        self._until = until
        self._left = MOST_BYTES

    def read(self, size: int) -> bytes:
        if time.monotonic() > self._until:
            raise TooSlow
        chunk: bytes = self._raw.read1(size, decode_content=True)
        self._left -= len(chunk)
        if self._left < 0:
            raise TooLarge
        return chunk

    def close(self) -> None:
        self._raw.close()
