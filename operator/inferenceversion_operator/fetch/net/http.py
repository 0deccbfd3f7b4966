"""GET over the standard library's HTTP client, with connections to checked addresses only."""

import base64
import http.client
import socket
import ssl
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from urllib.parse import SplitResult, urljoin, urlsplit

from inferenceversion_operator.fetch.errors import BrokenError, FetchError, Reason, invalid, shown, without_secrets
from inferenceversion_operator.fetch.net.address import resolve

_MAX_REDIRECTS = 5
_CONNECT_SECONDS = 10.0
_READ = 1 << 18
_REDIRECTS = (301, 302, 303, 307, 308)
_AGAIN = (408, 425, 429, 500, 502, 503, 504)


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    headers: Mapping[str, str]  # names in lower case
    url: str  # after redirects
    raw: http.client.HTTPResponse = field(repr=False)

    @property
    def length(self) -> int | None:
        text = self.headers.get("content-length", "")
        return int(text) if text.isdecimal() else None

    def chunks(self) -> Iterator[bytes]:
        """Yield the body; a body that is shorter than announced raises BrokenError."""
        left = self.length
        try:
            while data := self.raw.read1(_READ):
                if left is not None:
                    left -= len(data)
                yield data
        except (OSError, http.client.HTTPException) as error:
            raise BrokenError(f"the connection broke ({type(error).__name__})") from None
        if left:
            raise BrokenError("the connection ended early")


@dataclass(frozen=True, slots=True)
class Client:
    """What all requests of one source share.

    ``authorization`` goes to the origin of the first URL of a request alone: a redirect to another host, port or
    scheme gets none.
    """

    authorization: str | None = field(default=None, repr=False)
    ca_pem: str | None = None  # beside the CAs of the image
    allow_insecure: bool = False
    allow_loopback: bool = False
    read_seconds: float = 30.0

    @contextmanager
    def get(self, url: str, headers: Mapping[str, str] | None = None) -> Iterator[Response]:
        """Open ``url``, following redirects; the status is 200 or 206, everything else is raised."""
        origin = self._check(url, None)
        current, location = origin, url
        for _ in range(_MAX_REDIRECTS + 1):
            with self._connection(current) as connection:
                own = {"Authorization": self.authorization} if self.authorization and _same(current, origin) else {}
                response = _request(connection, current, location, {**(headers or {}), **own})
                if response.status not in _REDIRECTS:
                    _check_status(response)
                    yield response
                    return
            if not response.headers.get("location"):
                raise invalid(f"{without_secrets(location)}: HTTP {response.status} without a Location")
            location = urljoin(location, response.headers["location"])
            current = self._check(location, current)
        raise invalid(f"more than {_MAX_REDIRECTS} redirects from {without_secrets(url)}")

    def _check(self, url: str, before: SplitResult | None) -> SplitResult:
        try:
            parts = urlsplit(url)
            parts.port  # noqa: B018 - raises for a port that is none
        except ValueError:
            raise invalid("the source is not a valid URL") from None
        schemes = ("https", "http") if self.allow_insecure else ("https",)
        where = "redirects to" if before else "is"
        if parts.scheme not in schemes or (before and before.scheme == "https" and parts.scheme != "https"):
            raise invalid(f"the source {where} {shown(parts.scheme or 'nothing')}://, which is not taken")
        if not parts.hostname or parts.username is not None or not url.isascii():
            raise invalid(f"the source {where} a URL without host, with a user or with characters that no URL has")
        return parts

    @contextmanager
    def _connection(self, parts: SplitResult) -> Iterator[http.client.HTTPConnection]:
        port = parts.port or (443 if parts.scheme == "https" else 80)
        host = parts.hostname or ""
        connection = http.client.HTTPConnection(host, port)
        connection.sock = self._connect(host, port, secure=parts.scheme == "https")
        try:
            yield connection
        finally:
            connection.close()

    def _connect(self, host: str, port: int, *, secure: bool) -> socket.socket:
        """Connect to an address that was checked: asking the DNS twice would let it answer twice."""
        why = "no address"
        for address in resolve(host, port, allow_loopback=self.allow_loopback):
            try:
                plain = socket.create_connection((address, port), _CONNECT_SECONDS)
                plain.settimeout(self.read_seconds)
                return self._context().wrap_socket(plain, server_hostname=host) if secure else plain
            except ssl.SSLCertVerificationError as error:
                raise FetchError(
                    Reason.SOURCE_UNREACHABLE,
                    f"the certificate of {shown(host)} is not trusted: {error.verify_message}",
                ) from None
            except OSError as error:
                why = type(error).__name__
        raise BrokenError(f"{shown(host)}:{port} can't be connected to ({why})")

    def _context(self) -> ssl.SSLContext:
        context = ssl.create_default_context()  # OpenSSL takes SSL_CERT_FILE in place of the image's CAs
        if self.ca_pem:
            try:
                context.load_verify_locations(cadata=self.ca_pem)
            except (ssl.SSLError, ValueError):
                raise FetchError(Reason.SOURCE_FORBIDDEN, "CA_CERTIFICATES has no certificate in PEM form") from None
        return context


def authorization_of(env: Mapping[str, str]) -> str | None:
    """Return the Authorization header that the environment asks for."""
    token, user = env.get("HTTP_BEARER_TOKEN"), env.get("HTTP_USERNAME")
    if token:
        value = f"Bearer {token.strip()}"
    elif user is not None:
        value = "Basic " + base64.b64encode(f"{user}:{env.get('HTTP_PASSWORD', '')}".encode()).decode()
    else:
        return None
    if not value.isascii() or not value.isprintable():
        raise FetchError(Reason.SOURCE_FORBIDDEN, "HTTP_BEARER_TOKEN has characters that no header has")
    return value


def _same(one: SplitResult, other: SplitResult) -> bool:
    return (one.scheme, one.hostname, one.port) == (other.scheme, other.hostname, other.port)


def _request(
    connection: http.client.HTTPConnection, parts: SplitResult, url: str, headers: Mapping[str, str]
) -> Response:
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    fixed = {"Accept": "*/*", "Accept-Encoding": "identity", "User-Agent": "inferenceversion-fetch"}
    try:
        connection.request("GET", target, headers={"Host": parts.netloc, **fixed, **headers})
        raw = connection.getresponse()
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, http.client.InvalidURL):
            raise invalid("the source is not a valid URL") from None
        raise BrokenError(f"no answer from {shown(parts.netloc)} ({type(error).__name__})") from None
    return Response(raw.status, {name.lower(): value for name, value in raw.getheaders()}, url, raw)


def _check_status(response: Response) -> None:
    status, where = response.status, without_secrets(response.url)
    if status in (200, 206):
        return
    if status in (404, 410):
        raise FetchError(Reason.SOURCE_NOT_FOUND, f"{where}: HTTP {status}")
    if status in (401, 403, 407):
        hint = "check the Secret of model.sourceSecretRef (HTTP_BEARER_TOKEN or HTTP_USERNAME and HTTP_PASSWORD)"
        raise FetchError(Reason.SOURCE_FORBIDDEN, f"{where}: HTTP {status}; {hint}")
    if status in _AGAIN:
        after = response.headers.get("retry-after", "")
        raise BrokenError(f"HTTP {status} from {where}", float(after) if after.isdecimal() else 0)
    if status in (412, 416):
        raise changed(where)
    raise invalid(f"{where}: HTTP {status}")


def changed(where: str) -> FetchError:
    """Return the error for a source that became another one in the middle."""
    return FetchError(Reason.SOURCE_UNREACHABLE, f"{where} changed while it was downloaded", transient=True)
