import socket

import pytest

from inferenceversion_operator.fetch.errors import BrokenError, FetchError, Reason
from inferenceversion_operator.fetch.net.address import objection, resolve
from inferenceversion_operator.fetch.net.http import Client

REFUSED = {
    "127.0.0.1": "loopback", "127.8.9.1": "loopback", "::1": "loopback", "::ffff:127.0.0.1": "loopback",
    "169.254.169.254": "link-local", "169.254.0.1": "link-local", "fe80::1": "link-local", "fe80::1%eth0": "link-local",
    "::ffff:169.254.169.254": "link-local", "64:ff9b::a9fe:a9fe": "link-local", "2002:a9fe:a9fe::": "link-local",
    "2001:0:4136:e378:8000:63bf:5601:5601": "link-local",
    "fd00:ec2::254": "metadata", "100.100.100.200": "metadata", "168.63.129.16": "metadata", "192.0.0.192": "metadata",
    "fd20:ce::254": "metadata", "0.0.0.0": "not the address", "::": "not the address", "224.0.0.1": "not the address",
    "255.255.255.255": "not the address", "ff02::1": "not the address", "240.0.0.1": "not the address",
}  # fmt: skip
ALLOWED = [
    "10.0.0.1",
    "172.16.3.4",
    "192.168.1.1",
    "100.64.0.1",
    "8.8.8.8",
    "fd12::1",
    "2606:4700::1111",
    "::ffff:8.8.8.8",
]


@pytest.mark.parametrize(("address", "why"), REFUSED.items())
def test_addresses_of_the_node_and_its_cloud_are_refused(address, why):
    assert why in objection(address, allow_loopback=False)


@pytest.mark.parametrize("address", ALLOWED)
def test_private_and_public_addresses_are_fine(address):
    assert objection(address, allow_loopback=False) is None


def test_loopback_is_for_tests_and_does_not_open_the_rest():
    assert objection("127.0.0.1", allow_loopback=True) is None
    assert objection("169.254.169.254", allow_loopback=True)


def test_the_api_server_is_refused(monkeypatch):
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.96.0.1")
    assert "API server" in objection("10.96.0.1", allow_loopback=False)


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "0177.0.0.1", "127.1", "localhost", "[::1]", "0"])
def test_ways_to_write_loopback(host):
    """What the resolver makes of a name counts, not how it is written."""
    with pytest.raises((FetchError, BrokenError)):
        resolve(host.strip("[]"), 443, allow_loopback=False)


def answer(*addresses):
    return lambda *_, **__: [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 443)) for address in addresses]


def test_a_name_with_one_bad_address_is_reached_by_the_others_only(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", answer("169.254.169.254", "10.1.2.3", "10.1.2.3"))
    assert resolve("h", 443, allow_loopback=False) == ["10.1.2.3"]


def test_a_name_with_bad_addresses_alone_is_forbidden(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", answer("169.254.169.254"))
    with pytest.raises(FetchError) as caught:
        resolve("metadata.internal", 443, allow_loopback=False)
    assert caught.value.reason is Reason.SOURCE_FORBIDDEN
    assert "'metadata.internal' is 169.254.169.254, a link-local address" in caught.value.message


def test_the_connection_goes_to_the_address_that_was_checked(monkeypatch):
    """A DNS server that answers otherwise the second time (rebinding) is not asked a second time."""
    asked, connected = [], []

    def resolver(host, *_, **__):
        asked.append(host)
        return answer("10.1.2.3" if len(asked) == 1 else "169.254.169.254")()

    def connect(address, *_):
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", resolver)
    monkeypatch.setattr(socket, "create_connection", connect)
    with pytest.raises(BrokenError), Client().get("https://rebinding.example/m"):
        pass
    assert (asked, connected) == (["rebinding.example"], [("10.1.2.3", 443)])
