"""Which addresses a source may have. Private ranges are fine (MinIO in the cluster), the node and its cloud are not."""

import ipaddress
import os
import socket
from urllib.parse import urlsplit

from inferenceversion_operator.fetch.errors import BrokenError, FetchError, Reason, invalid, shown

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Services of clouds that hand out credentials or settings at addresses that are not link-local.
_METADATA = frozenset(
    ipaddress.ip_address(text)
    for text in (
        "100.100.100.200",  # Alibaba
        "168.63.129.16",  # Azure
        "192.0.0.192",  # Oracle
        "fd00:ec2::254",  # AWS
        "fd00:ec2::23",  # AWS EKS Pod Identity
        "fd20:ce::254",  # GCP
    )
)
_NAT64 = (ipaddress.ip_network("64:ff9b::/96"), ipaddress.ip_network("64:ff9b:1::/48"))


def resolve(host: str, port: int, *, allow_loopback: bool) -> list[str]:
    """Return the addresses of ``host`` that may be connected to.

    Raises:
        BrokenError: the name does not resolve now.
        FetchError: SourceForbidden, when no address may be used.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise BrokenError(f"host '{shown(host)}' can't be resolved") from None
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    objections = {address: objection(address, allow_loopback=allow_loopback) for address in addresses}
    allowed = [address for address, why in objections.items() if why is None]
    if not allowed:
        address, why = next(iter(objections.items()))
        raise FetchError(
            Reason.SOURCE_FORBIDDEN, f"host '{shown(host)}' is {address}, {why}: models are not fetched from there"
        )
    return allowed


def check_endpoint(url: str, *, allow_loopback: bool) -> None:
    """Refuse the URL of an object store whose host has no address that may be used."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port, parts = None, None, urlsplit("")
    if not host or parts.scheme not in ("http", "https"):
        raise invalid("the endpoint of the object store is not an http(s) URL")
    resolve(host, port or 443, allow_loopback=allow_loopback)


def objection(text: str, *, allow_loopback: bool) -> str | None:
    """Return why the address ``text`` may not be connected to, None if it may."""
    address = _embedded(ipaddress.ip_address(text.partition("%")[0]))
    if address.is_loopback:
        return None if allow_loopback else "a loopback address"
    if address in _METADATA:
        return "a metadata service"
    if address.is_link_local:
        return "a link-local address"
    if address.is_unspecified or address.is_multicast or address.is_reserved:
        return "not the address of a host"
    if str(address) == os.environ.get("KUBERNETES_SERVICE_HOST"):
        return "the API server of the cluster"
    return None


def _embedded(address: Address) -> Address:
    """Return the IPv4 address that an IPv6 address stands for, where it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if any(address in network for network in _NAT64):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None) or address
