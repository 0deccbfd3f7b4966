"""Write container images without a builder: a docker-archive from tar layers, the same bytes every time."""

import hashlib
import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class ImageConfig:
    """What runs in the image, and as whom."""

    entrypoint: tuple[str, ...]
    user: str = ""

    def document(self, diff_ids: list[str]) -> bytes:
        config: dict[str, object] = {"Env": [PATH], "Entrypoint": list(self.entrypoint)}
        if self.user:
            config["User"] = self.user
        document = {
            "architecture": "amd64",
            "os": "linux",
            "config": config,
            "rootfs": {"type": "layers", "diff_ids": diff_ids},
            "history": [{"created_by": "dev/archive.py"} for _ in diff_ids],
        }
        return json.dumps(document, sort_keys=True).encode()


def _plain(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = "root"
    info.mtime = 0
    return info


def write_layer(target: Path, files: Mapping[str, Path | bytes]) -> None:
    """A tar of files by their place in the image, owned by root, beside an empty /tmp."""
    with tarfile.open(target, "w", format=tarfile.PAX_FORMAT) as tar:
        folder = tarfile.TarInfo("tmp")
        folder.type, folder.mode = tarfile.DIRTYPE, 0o1777
        tar.addfile(folder)
        for place, source in sorted(files.items()):
            name = place.strip("/")
            if isinstance(source, bytes):
                info = tarfile.TarInfo(name)
                info.size, info.mode = len(source), 0o755
                tar.addfile(_plain(info), io.BytesIO(source))
            else:
                tar.add(source.resolve(), name, filter=_plain)


def sha256_of(path: Path) -> str:
    with path.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def write_archive(target: Path, tag: str, layers: list[Path], config: ImageConfig) -> None:
    """A docker-archive, which both `docker load` and `ctr images import` read."""
    digests = [sha256_of(layer) for layer in layers]
    document = config.document([f"sha256:{digest}" for digest in digests])
    name = hashlib.sha256(document).hexdigest()
    manifest = [{"Config": f"{name}.json", "RepoTags": [tag], "Layers": [f"{d}/layer.tar" for d in digests]}]
    with tarfile.open(target, "w") as tar:
        for member, data in ((f"{name}.json", document), ("manifest.json", json.dumps(manifest).encode())):
            info = tarfile.TarInfo(member)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
        for layer, digest in zip(layers, digests, strict=True):
            tar.add(layer, f"{digest}/layer.tar", filter=_plain)
