"""up, down and status of the kind cluster."""

import json
import shutil
import sys
import time
from dataclasses import asdict, dataclass
from typing import Any

from dev import addons, engine, kind, needs, netns, plan
from dev.cache import write_atomically
from dev.engine import Engine
from dev.kubectl import Kubectl, kubectl
from dev.paths import Paths
from dev.plan import ENGINE, NODE_IMAGE, Machine
from dev.shell import DevError
from dev.steps import Step, run_steps

DEFAULT_NODES = 2


@dataclass(frozen=True, slots=True)
class Record:
    """What `up` leaves for the other commands: state/cluster.json."""

    local: bool
    nodes: int
    address: str
    node_image: str
    images: dict[str, str]


def record_file(paths: Paths) -> Any:
    return paths.state / "cluster.json"


def read_record(paths: Paths) -> Record | None:
    try:
        return Record(**json.loads(record_file(paths).read_text()))
    except FileNotFoundError:
        return None


def addresses(record: Record) -> dict[str, str]:
    """Where the host reaches what runs in the cluster."""
    return {
        "gateway": f"{record.address}:{kind.GATEWAY_PORT}",
        "prometheus": f"http://{record.address}:{kind.PROMETHEUS_PORT}",
    }


def engine_of(paths: Paths, record: Record) -> Engine:
    return engine.own_engine(paths) if record.local else engine.user_engine()


def look_at_machine(paths: Paths) -> Machine:
    """Facts, the choice of the engine, and the complaint if something is missing."""
    facts = needs.look(paths)
    record = read_record(paths)
    local = record.local if record else engine.runs(paths) or engine.choose_local(facts)
    wants = needs.missing(facts, local=local)
    if wants:
        raise DevError("this machine lacks: " + "; ".join(wants))
    return Machine(paths, facts, engine.own_engine(paths) if local else engine.user_engine())


def _healthy(paths: Paths, machine: Machine, nodes: int) -> bool:
    """Is the wanted cluster up already, on the images of this checkout?"""
    record = read_record(paths)
    if record is None or record.nodes != nodes or record.node_image != plan.node_image(machine):
        return False
    return kubectl(paths).succeeds("get", "--raw", "/readyz", timeout=5)


def _create(machine: Machine, nodes: int) -> bool:
    paths = machine.paths
    if _healthy(paths, machine, nodes):
        return False
    if read_record(paths):
        print("the cluster that is there has another shape, or does not answer: making it anew", file=sys.stderr)
    kind.delete(paths, machine.engine)
    shape = kind.shape(machine.facts, local=machine.local, nodes=nodes)
    kind.create(paths, machine.engine, plan.node_image(machine), shape)
    images = asdict(plan.addon_images(machine))
    record = Record(machine.local, nodes, shape.address, plan.node_image(machine), images)
    write_atomically(record_file(paths), json.dumps(asdict(record), indent=1))
    return True


def _routes(paths: Paths, machine: Machine) -> None:
    """Routes from the namespace to pods: known only once every node has its podCIDR."""
    found = kubectl(paths).get("nodes")["items"]
    node_addresses = kind.addresses(machine.engine, [item["metadata"]["name"] for item in found])
    pods = {item["spec"]["podCIDR"]: node_addresses[item["metadata"]["name"]] for item in found}
    control_plane = node_addresses[kind.node_names(1)[0]]
    netns.route_to_pods(pods, control_plane)


def _ready(machine: Machine, nodes: int) -> bool:
    client = kubectl(machine.paths)
    for name in kind.node_names(nodes):
        client.wait(f"node/{name}", "condition=Ready")
    addons.wait_for_dns(client)
    if machine.local:
        _routes(machine.paths, machine)
    return True


def _worked(work: Any) -> bool:
    work()
    return True


def cluster_steps(machine: Machine, nodes: int, before: tuple[str, ...]) -> list[Step]:
    paths, images = machine.paths, plan.addon_images(machine)
    client: Kubectl = kubectl(paths)
    create = f"kind cluster, {nodes} node{'s' if nodes > 1 else ''}"
    ready, crds = "all nodes Ready, DNS answers", "Gateway API"
    return [
        Step(create, lambda: _create(machine, nodes), before),
        Step(ready, lambda: _ready(machine, nodes), (create,)),
        Step(crds, lambda: _worked(lambda: addons.install_gateway_api(paths, client)), (create,)),
        Step("Envoy Gateway", lambda: _worked(lambda: addons.install_gateway(paths, client, images)), (ready, crds)),
        Step("Prometheus", lambda: _worked(lambda: addons.install_prometheus(client, images)), (ready,)),
    ]


def up(paths: Paths, wanted_nodes: int | None) -> None:
    """Build what is missing, start what does not run; may be called any number of times."""
    machine = look_at_machine(paths)
    record = read_record(paths)
    nodes = wanted_nodes or (record.nodes if record else DEFAULT_NODES)
    began = time.monotonic()
    steps = [*plan.engine_steps(machine), *plan.part_steps(machine), *plan.node_image_steps(machine)]
    before = (NODE_IMAGE, ENGINE) if machine.local else tuple(step.name for step in steps)
    run_steps([*steps, *cluster_steps(machine, nodes, before)])
    _say_where(paths, time.monotonic() - began)


def _say_where(paths: Paths, seconds: float) -> None:
    seen = status(paths)
    print(f"up after {seconds:.0f} s")
    for name in ("kubeconfig", "gateway", "prometheus"):
        print(f"{name:<11} {seen[name]}")


def build(paths: Paths) -> None:
    run_steps(plan.build_steps(look_at_machine(paths)))


def down(paths: Paths) -> None:
    """Remove cluster, engine and namespace; the cache stays."""
    record = read_record(paths)
    local = record.local if record else needs.look(paths).uid == 0 and netns.exists()
    chosen = engine.own_engine(paths) if local else engine.user_engine()
    if engine.answers(paths) if local else record is not None:
        kind.delete(paths, chosen)
    if local:
        engine.stop(paths)
        netns.remove()
    shutil.rmtree(paths.state, ignore_errors=True)


def _node_states(paths: Paths) -> list[dict[str, str]]:
    nodes = []
    for item in kubectl(paths).get("nodes")["items"]:
        conditions = {each["type"]: each["status"] for each in item["status"].get("conditions", [])}
        version = item["status"].get("nodeInfo", {}).get("kubeletVersion", "")
        ready = conditions.get("Ready", "Unknown")
        nodes.append({"name": item["metadata"]["name"], "ready": ready, "version": version})
    return nodes


def status(paths: Paths) -> dict[str, Any]:
    """The document of `status -o json`; state is down, unreachable, starting or up."""
    record = read_record(paths)
    if record is None:
        return {"state": "down"}
    client = kubectl(paths)
    reachable = client.succeeds("get", "--raw", "/readyz", timeout=5)
    nodes = _node_states(paths) if reachable else []
    all_ready = bool(nodes) and all(node["ready"] == "True" for node in nodes)
    server = client.output("config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")
    return {
        "state": ("up" if all_ready else "starting") if reachable else "unreachable",
        "source": "local" if record.local else "official",
        "nodes": nodes,
        "kubeconfig": str(paths.kubeconfig),
        "apiServer": server,
        **addresses(record),
        "dockerHost": engine_of(paths, record).environment.get("DOCKER_HOST", ""),
        "images": {"node": record.node_image, **record.images},
    }
