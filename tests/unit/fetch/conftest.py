import pytest

from tests.support.servers.ca import Ca
from tests.support.servers.files import FileServer
from tests.support.servers.s3 import S3Server
from tests.unit.fetch.support import Pod


@pytest.fixture
def pod(tmp_path):
    return Pod(tmp_path / "pod")


@pytest.fixture(scope="session")
def ca(tmp_path_factory):
    return Ca(tmp_path_factory.mktemp("ca"))


@pytest.fixture(scope="session")
def https(tmp_path_factory, ca):
    root = tmp_path_factory.mktemp("https") / "root"
    root.mkdir()
    with FileServer(root, ca) as server:
        yield server


@pytest.fixture(scope="session")
def http(tmp_path_factory):
    root = tmp_path_factory.mktemp("http") / "root"
    root.mkdir()
    with FileServer(root) as server:
        yield server


@pytest.fixture(scope="session")
def s3(tmp_path_factory):
    with S3Server(tmp_path_factory.mktemp("s3") / "server", public=True) as server:
        yield server
