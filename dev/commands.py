"""What each command does: glue between arguments and the modules that know how."""

import argparse
import json
import os
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

from dev import build_image as images
from dev import cache, cluster, existing, gotools, netns, plan
from dev import gpus as fake_gpus
from dev import kwok as fake_nodes
from dev import load_image as loading
from dev.kubectl import kubectl
from dev.paths import Paths, paths
from dev.shell import DevError, tail
from dev.steps import run_steps

NOT_UP = 3


def _print(value: Any, *, as_json: bool, text: str) -> None:
    print(json.dumps(value, indent=1) if as_json else text)


def _running(where: Paths) -> cluster.Record:
    record = cluster.read_record(where)
    if record is None:
        raise DevError("no cluster is up: run `python -m dev up`")
    return record


def up(options: argparse.Namespace) -> int:
    if existing.chosen():
        print(status_text(existing.check()))
        return 0
    where = paths()
    with cache.exclusive(where.cache):
        cluster.up(where, options.nodes)
    return 0


def down(_: argparse.Namespace) -> int:
    if existing.chosen():
        print("CLUSTER=existing: left alone")
        return 0
    where = paths()
    with cache.exclusive(where.cache):
        fake_nodes.stop(where)
        cluster.down(where)
    return 0


def status_text(seen: dict[str, Any]) -> str:
    lines = [
        f"{name:<11} {seen[name]}"
        for name in ("state", "source", "kubeconfig", "apiServer", "gateway", "prometheus")
        if name in seen
    ]
    lines += [
        f"node        {n['name']} {n['version']} {'Ready' if n['ready'] == 'True' else 'NotReady'}"
        for n in seen.get("nodes", [])
    ]
    lines += [f"image       {name}: {image}" for name, image in seen.get("images", {}).items()]
    return "\n".join(lines)


def _status() -> dict[str, Any]:
    return existing.status() if existing.chosen() else cluster.status(paths())


def status(options: argparse.Namespace) -> int:
    seen = _status()
    _print(seen, as_json=options.output == "json", text=status_text(seen))
    return 0 if seen["state"] == "up" else NOT_UP


def kubeconfig(_: argparse.Namespace) -> int:
    if existing.chosen():
        print(existing.kubeconfig())
        return 0
    where = paths()
    _running(where)
    print(where.kubeconfig)
    return 0


def environment(where: Paths) -> dict[str, str]:
    """What `env` prints and `exec` sets."""
    record = _running(where)
    tools = [str(gotools.folder(where, name)) for name in ("kubernetes", "helm", "kind")]
    seen = cluster.addresses(record)
    return {
        "KUBECONFIG": str(where.kubeconfig),
        **cluster.engine_of(where, record).environment,
        "GATEWAY_ADDRESS": seen["gateway"],
        "PROMETHEUS_URL": seen["prometheus"],
        # Beside this Python is kubectl-iv: that makes `kubectl iv` work.
        "PATH": os.pathsep.join([*tools, str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)]),
    }


def env(_: argparse.Namespace) -> int:
    if existing.chosen():
        seen = existing.status()
        values = {
            "KUBECONFIG": seen["kubeconfig"],
            "GATEWAY_ADDRESS": seen["gateway"],
            "PROMETHEUS_URL": seen["prometheus"],
        }
    else:
        values = environment(paths())
    for name, value in values.items():
        print(f"export {name}={shlex.quote(value)}")
    return 0


def execute(options: argparse.Namespace) -> int:
    words = options.words[1:] if options.words[:1] == ["--"] else options.words
    if not words:
        raise DevError("exec needs a command: python -m dev exec -- kubectl get pods")
    where = paths()
    values = {} if existing.chosen() else environment(where)
    inside = [] if existing.chosen() or not _running(where).local else netns.enter()
    os.environ.update(values)
    command = [*inside, *words]
    if shutil.which(words[0]) is None:
        raise DevError(f"there is no program {words[0]}")
    os.execvp(command[0], command)


def logs(options: argparse.Namespace) -> int:
    folder = paths().logs
    found = {file.stem: file for file in sorted(folder.glob("*.log"))}
    unknown = set(options.names) - set(found)
    if unknown:
        raise DevError(f"no log {', '.join(sorted(unknown))} in {folder}; there are: {', '.join(found)}")
    if not options.names:
        print("\n".join(f"{name:<22} {file}" for name, file in found.items()))
    for name in options.names:
        print(f"==> {found[name]}\n{tail(found[name].read_text(errors='replace'), options.lines)}")
    return 0


def gpus(options: argparse.Namespace) -> int:
    where = paths()
    _running(where)
    name = fake_gpus.set_gpus(kubectl(where), options.count, options.node)
    print(f"{name}: {options.count} fake {fake_gpus.RESOURCE}")
    return 0


def kwok(options: argparse.Namespace) -> int:
    where = paths()
    _running(where)
    if options.action == "up":
        fake_nodes.start(where, kubectl(where), options.nodes)
    else:
        fake_nodes.remove(where, kubectl(where))
    return 0


def build(_: argparse.Namespace) -> int:
    where = paths()
    with cache.exclusive(where.cache):
        cluster.build(where)
    return 0


def _machine_with_engine(where: Paths) -> plan.Machine:
    """The engine is started if need be: an image can be built before the first `up`."""
    machine = cluster.look_at_machine(where)
    steps = plan.engine_steps(machine)
    if machine.local and not plan.engine_is_up(machine):
        run_steps(steps)
    return machine


def build_image(options: argparse.Namespace) -> int:
    where = paths()
    with cache.exclusive(where.cache):
        machine = _machine_with_engine(where)
        built = images.build(where, machine.engine, options.name)
    document = built.document()
    text = built.tag
    if options.load:
        loaded = existing.load(built.tag) if existing.chosen() else loading.load_all(machine.engine, [built.tag])[0]
        document |= {"reference": loaded.reference}
        text = loaded.reference
    _print(document, as_json=options.output == "json", text=text)
    return 0


def load_image(options: argparse.Namespace) -> int:
    where = paths()
    sources = options.sources or images.newest_tags()
    if existing.chosen():
        loaded = [existing.load(source) for source in sources]
    else:
        loaded = loading.load_all(cluster.engine_of(where, _running(where)), sources)
    text = "\n".join(each.reference for each in loaded)
    _print([each.document() for each in loaded], as_json=options.output == "json", text=text)
    return 0
