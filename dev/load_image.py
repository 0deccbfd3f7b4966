"""Put images into every node, under their tag and under `repo@sha256:...`, as if they had been pulled."""

import json
import signal
import subprocess
import tarfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dev import kind
from dev.engine import Engine
from dev.shell import CommandError, DevError, environment, tail

CTR = ("ctr", "-n", "k8s.io")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What `load-image -o json` prints for one image."""

    image: str
    reference: str
    nodes: list[str]
    loaded: bool

    def document(self) -> dict[str, object]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Wanted:
    """An image to load: its full tag, the digest of its config, and where it comes from."""

    tag: str
    config: str
    archive: Path | None


def full_name(tag: str) -> str:
    """The name as containerd and the kubelet write it."""
    first, _, rest = tag.partition("/")
    if rest and ("." in first or ":" in first or first == "localhost"):
        named = tag
    else:
        named = f"docker.io/{tag}" if rest else f"docker.io/library/{tag}"
    return named if ":" in named.rpartition("/")[2] else f"{named}:latest"


def repository(tag: str) -> str:
    """The name without its tag: what the reference by digest starts with."""
    head, colon, last = tag.rpartition(":")
    return head if colon and "/" not in last else tag


def parse_manifest(document: Any) -> list[tuple[str, str]]:
    """(tag, config digest) of each image of a docker-archive's manifest.json."""
    found = []
    for image in document:
        name = image["Config"].rpartition("/")[2].removesuffix(".json")
        found += [(full_name(tag), f"sha256:{name}") for tag in image.get("RepoTags") or []]
    return found


def read_archive(archive: Path) -> list[Wanted]:
    try:
        tar = tarfile.open(archive)  # noqa: SIM115 - the error of opening it is one of its own
    except tarfile.ReadError as error:
        raise DevError(f"{archive} is no tar archive") from error
    with tar:
        try:
            member = tar.extractfile("manifest.json")
        except KeyError as error:
            raise DevError(
                f"{archive} has no manifest.json: make it with `docker save` or skopeo docker-archive:"
            ) from error
        document = json.load(member) if member else []
    found = [Wanted(tag, config, archive) for tag, config in parse_manifest(document)]
    if not found:
        raise DevError(f"{archive} names no image: save it by tag, not by id")
    return found


def find(engine: Engine, source: str) -> list[Wanted]:
    """An archive file, or a tag that the engine knows."""
    if Path(source).is_file():
        return read_archive(Path(source))
    try:
        config = engine.docker("image", "inspect", "-f", "{{.Id}}", source).strip()
    except CommandError as error:
        raise DevError(f"{source} is neither a file nor an image of the engine") from error
    return [Wanted(full_name(source), config, None)]


def parse_images(document: Any) -> dict[str, tuple[str, list[str]]]:
    """From `crictl images -o json`: tag -> (config digest, references by digest)."""
    return {
        tag: (image["id"], image.get("repoDigests") or [])
        for image in document.get("images", [])
        for tag in image.get("repoTags") or []
    }


def known_reference(images: dict[str, tuple[str, list[str]]], wanted: Wanted) -> str | None:
    """The reference by digest, if this very image is on the node under both names."""
    config, digests = images.get(wanted.tag, ("", []))
    if config != wanted.config:
        return None
    return next((each for each in digests if each.startswith(f"{repository(wanted.tag)}@")), None)


def node_images(engine: Engine, node: str) -> dict[str, tuple[str, list[str]]]:
    return parse_images(json.loads(engine.docker("exec", node, "crictl", "images", "-o", "json")))


def target_digest(listing: str, tag: str) -> str:
    """From `ctr images ls`: the digest of what a tag points at, i.e. of the manifest."""
    for line in listing.splitlines():
        words = line.split()
        if words and words[0] == tag:
            return words[2]
    raise DevError(f"{tag} is not on the node after the import")


@contextmanager
def _archive_of(engine: Engine, wanted: Wanted) -> Iterator["subprocess.Popen[bytes]"]:
    command = ["cat", str(wanted.archive)] if wanted.archive else ["docker", "save", wanted.tag]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(engine.environment)) as source:
        yield source
    # The importer is done at the archive's end mark and closes the pipe; what follows the mark is padding.
    if source.returncode not in (0, -signal.SIGPIPE):
        raise DevError(f"{' '.join(command)} ended with {source.returncode}")


def _import(engine: Engine, node: str, wanted: Wanted) -> str:
    command = ["docker", "exec", "-i", node, *CTR, "images", "import", "--snapshotter=overlayfs", "-"]
    with _archive_of(engine, wanted) as source:
        result = subprocess.run(
            command, stdin=source.stdout, capture_output=True, env=environment(engine.environment), check=False
        )
    if result.returncode != 0:
        raise DevError(f"the import of {wanted.tag} on {node} failed:\n{tail(result.stderr.decode(errors='replace'))}")
    return _name_by_digest(engine, node, wanted)


def _name_by_digest(engine: Engine, node: str, wanted: Wanted) -> str:
    digest = target_digest(engine.docker("exec", node, *CTR, "images", "ls"), wanted.tag)
    reference = f"{repository(wanted.tag)}@{digest}"
    engine.docker("exec", node, *CTR, "images", "tag", "--force", wanted.tag, reference)
    return reference


def same_content(images: dict[str, tuple[str, list[str]]], wanted: Wanted) -> str | None:
    """Another tag of the very same image on the node: then a name is missing, not the bytes."""
    return next((tag for tag, (config, _) in images.items() if config == wanted.config), None)


def _load_one(engine: Engine, node: str, wanted: Wanted) -> tuple[str, bool]:
    images = node_images(engine, node)
    known = known_reference(images, wanted)
    if known:
        return known, False
    other = same_content(images, wanted)
    if other is None:
        return _import(engine, node, wanted), True
    engine.docker("exec", node, *CTR, "images", "tag", "--force", other, wanted.tag)
    return _name_by_digest(engine, node, wanted), True


def load(engine: Engine, nodes: list[str], wanted: Wanted) -> Loaded:
    """Load one image into all nodes that lack it."""
    with ThreadPoolExecutor(max_workers=2) as pool:
        results = list(pool.map(lambda node: _load_one(engine, node, wanted), nodes))
    references = {reference for reference, _ in results}
    if len(references) != 1:
        raise DevError(f"{wanted.tag} has several digests on the nodes: {', '.join(sorted(references))}")
    return Loaded(wanted.tag, references.pop(), nodes, any(worked for _, worked in results))


def load_all(engine: Engine, sources: Iterable[str]) -> list[Loaded]:
    nodes = kind.containers(engine)
    if not nodes:
        raise DevError("no cluster is up: run `python -m dev up`")
    return [load(engine, nodes, wanted) for source in sources for wanted in find(engine, source)]
