"""Servers that models are fetched from, as pods: HTTPS (``servers/files.py``) and S3 (SeaweedFS), in the operator's image."""

import hashlib
import io
import json
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.cluster_manifests import artifact
from tests.support.cluster_namespace import Namespace
from tests.support.kubectl import KubectlFailed
from tests.support.servers import s3
from tests.support.servers.ca import Ca
from tests.support.wait import NotYet, wait_until

Object = dict[str, Any]
_FILES_PY = Path(__file__).parent / "servers" / "files.py"
_PUT = "import pathlib,sys;p=pathlib.Path(sys.argv[1]);p.parent.mkdir(parents=True,exist_ok=True);t=p.with_name('.new');t.write_bytes(sys.stdin.buffer.read());t.chmod(0o755);t.rename(p)"
_PUT_S3 = """
import datetime, sys
import obstore
from obstore.store import S3Store
store = S3Store(sys.argv[1], endpoint="http://127.0.0.1:8333", access_key_id=sys.argv[3], secret_access_key=sys.argv[4],
                region="us-east-1", client_options={"allow_http": True})
obstore.put(store, sys.argv[2], sys.stdin.buffer.read())
"""
# 150 MB that no image needs to carry: the program is streamed into the pod, which waits for it.
_START_WEED = (
    "import os,sys,time\nwhile not os.path.exists('/data/weed'): time.sleep(0.2)\nos.execv('/data/weed', sys.argv[1:])"
)
_PORTS = [8333, 18333, 9333, 19333, 8380, 18380, 8888, 18888]


def sha256(data: bytes) -> str:
    """Return the hash of a source that is one file."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def folder_hash(files: Mapping[str, bytes]) -> str:
    """Return the hash of a source that is a folder, as docs/architecture.md says by hand."""
    lines = [f"{hashlib.sha256(data).hexdigest()}  {path}\n" for path, data in files.items()]
    return sha256("".join(sorted(lines, key=lambda line: line[66:-1].encode())).encode())


def tarball(files: Mapping[str, bytes]) -> bytes:
    """Return a .tar.gz with these files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for path, data in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return out.getvalue()


@dataclass(frozen=True, slots=True)
class FileServer:
    """HTTPS under a name of the namespace; ``secret`` is what a version needs to trust it."""

    ns: Namespace
    secret: str

    @property
    def url(self) -> str:
        return f"https://models.{self.ns.name}.svc:8443"

    def put(self, path: str, data: bytes) -> str:
        """Store a file and return its URL."""
        write_into(self.ns, "models", f"/models/{path}", data)
        return f"{self.url}/files/{path}"

    def model(self, variant: str) -> Object:
        """Store a build of images/triton-sentiment; return the ``model`` of a version that loads it.

        ``sentiment("2.0.0", image, variant="slow", model=files.model("slow"), triton={"parameters": {"delay_ms": "400"}})``
        """
        source = self.put(f"{variant}.tar.gz", tarball(artifact(variant)))
        return {"source": source, "sourceSecretRef": {"name": self.secret}}


@dataclass(frozen=True, slots=True)
class ObjectStore:
    """An S3 server; ``secret`` is what a version needs to read from it."""

    ns: Namespace
    secret: str

    def put(self, bucket: str, key: str, data: bytes) -> str:
        """Store an object and return its URL; the bucket is made when it is missing."""
        words = ["exec", "-i", "s3", "--", "python3", "-c", _PUT_S3, bucket, key, s3.KEY, s3.SECRET]
        _exec(self.ns, words, data)
        return f"s3://{bucket}/{key}"


def start_file_server(ns: Namespace, image: str) -> FileServer:
    """Start the HTTPS server as a pod and wait until it listens."""
    with tempfile.TemporaryDirectory() as folder:
        ca = Ca(Path(folder), (f"models.{ns.name}.svc",))
        server = {"cert.pem": ca.cert.read_text(), "key.pem": ca.key.read_text(), "files.py": _FILES_PY.read_text()}
        trust = {"CA_CERTIFICATES": ca.bundle.read_text()}
    command = ["python3", "-u", "/srv/files.py", "--root=/models", "--host=0.0.0.0", "--port=8443"]
    command += ["--cert=/srv/cert.pem", "--key=/srv/key.pem"]
    volumes = [_volume("srv", {"secret": {"secretName": "models-server"}}), _volume("models", {"emptyDir": {}})]
    mounts = {"srv": "/srv", "models": "/models"}
    ns.apply(
        _secret("models-server", server),
        _secret("models-trust", trust),
        _service("models", 8443),
        _pod("models", image, command, volumes, mounts, 8443),
    )
    _wait_ready(ns, "models")
    return FileServer(ns, "models-trust")


def start_object_store(ns: Namespace, image: str) -> ObjectStore:
    """Start SeaweedFS as a pod and wait until it takes objects."""
    command = s3.command(Path("/data"), Path("/srv/s3.json"), _PORTS, "0.0.0.0")
    command[0] = "/data/weed"
    volumes = [_volume("srv", {"secret": {"secretName": "s3-server"}})]
    volumes += [_volume(name, {"emptyDir": {}}) for name in ("data", "tmp")]
    mounts = {"srv": "/srv", "data": "/data", "tmp": "/tmp"}
    credentials = {
        "AWS_ENDPOINT_URL": f"http://s3.{ns.name}.svc:8333",
        "AWS_ACCESS_KEY_ID": s3.KEY,
        "AWS_SECRET_ACCESS_KEY": s3.SECRET,
    }
    ns.apply(
        _secret("s3-server", {"s3.json": json.dumps(s3.identities())}),
        _secret("s3-client", credentials),
        _service("s3", 8333),
        _pod("s3", image, ["python3", "-c", _START_WEED, *command], volumes, mounts, 8333),
    )
    _wait_running(ns, "s3")
    program = Path(sys.executable).with_name("weed")
    found = program if program.is_file() else Path(shutil.which("weed") or "weed")
    write_into(ns, "s3", "/data/weed", found.read_bytes())
    _wait_ready(ns, "s3")
    store = ObjectStore(ns, "s3-client")
    wait_until("waiting until the object store takes objects", lambda: _takes_objects(store), within=60)
    return store


def write_into(ns: Namespace, pod: str, path: str, data: bytes) -> None:
    """Write a file in a pod; whoever reads it sees the old bytes or the new ones."""
    _exec(ns, ["exec", "-i", pod, "--", "python3", "-c", _PUT, path], data)


def _takes_objects(store: ObjectStore) -> bool:
    try:
        store.put("ready", "probe", b"ready")
    except KubectlFailed as error:  # its volumes are made at the first write
        raise NotYet(str(error)[-300:]) from error
    return True


def _exec(ns: Namespace, words: list[str], data: bytes) -> None:
    ns.kubectl.feed(*words, data=data)


def _secret(name: str, data: Mapping[str, str]) -> Object:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": dict(data)}


def _service(name: str, port: int) -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"selector": {"app": name}, "ports": [{"port": port, "targetPort": port}]},
    }


def _volume(name: str, source: Object) -> Object:
    return {"name": name, **source}


def _pod(
    name: str, image: str, command: list[str], volumes: list[Object], mounts: Mapping[str, str], port: int
) -> Object:
    container = {
        "name": "server",
        "image": image,
        "command": command,
        "ports": [{"containerPort": port}],
        "readinessProbe": {"tcpSocket": {"port": port}, "periodSeconds": 1},
        "volumeMounts": [{"name": volume, "mountPath": path} for volume, path in mounts.items()],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "containers": [container],
            "volumes": volumes,
            "terminationGracePeriodSeconds": 1,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 65532,
                "runAsGroup": 65532,
                "fsGroup": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
        },
    }


def _wait_running(ns: Namespace, pod: str) -> None:
    def probe() -> bool:
        status = ns.seen("pod", pod)["status"]
        if status.get("phase") != "Running":
            raise NotYet(status)
        return True

    wait_until(f"waiting until pod {pod} runs", probe, within=60)


def _wait_ready(ns: Namespace, pod: str) -> None:
    def probe() -> bool:
        conditions = ns.seen("pod", pod)["status"].get("conditions", ())
        if not any(c["type"] == "Ready" and c["status"] == "True" for c in conditions):
            raise NotYet(conditions)
        return True

    wait_until(f"waiting until pod {pod} is ready", probe, within=60)
