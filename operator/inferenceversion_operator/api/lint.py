"""Advice on a valid InferenceVersion: what the API server takes and what will hurt later."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from inferenceversion_operator.api.defaults import spec_with_defaults
from inferenceversion_operator.api.duration import to_ms
from inferenceversion_operator.api.problem import Problem
from inferenceversion_operator.api.semver import precedence

_Spec = Mapping[str, Any]
_GRAPH_FORMATS = frozenset({"onnx", "torchscript", "tensorrt", "savedmodel"})
_GRAPH_BACKENDS = frozenset({"onnxruntime", "pytorch", "tensorrt", "tensorflow"})
_PLACEHOLDER = re.compile(r"sha256:([0-9a-f])\1{63}")


def lint(obj: Mapping[str, Any]) -> list[Problem]:
    """Return advice on an object that ``schema.validate`` has nothing against."""
    if obj["kind"] != "InferenceVersion":
        return []
    spec = spec_with_defaults("InferenceVersion", obj["spec"])
    return [problem for check in CHECKS for problem in check(spec)]


def lint_together(objects: Iterable[Mapping[str, Any]]) -> list[Problem]:
    """Return advice on objects that are applied together: two of one endpoint may not have the same version."""
    first: dict[tuple[str, str, Any], str] = {}
    problems = []
    for obj in objects:
        if obj["kind"] != "InferenceVersion":
            continue
        name, spec = obj["metadata"]["name"], obj["spec"]
        version = str(precedence(spec["version"]).replace(build=None))
        key = (obj["metadata"].get("namespace", ""), spec["endpoint"], version)
        if first.setdefault(key, name) != name:
            taken = f"version {spec['version']} of endpoint {spec['endpoint']} is that of {first[key]} already"
            problems.append(Problem("spec.version", f"{name}: {taken} (build metadata does not count): raise it"))
    return problems


def gpu_without_driver(spec: _Spec) -> Iterator[Problem]:
    runtime = spec["runtime"]
    if spec["triton"]["instanceGroup"]["kind"] == "KIND_GPU" and not {"cuda", "minDriver"} <= runtime.keys():
        yield Problem("spec.runtime", "set cuda and minDriver: they say which nodes can run the image")


def tensorrt_without_gpu(spec: _Spec) -> Iterator[Problem]:
    triton = spec["triton"]
    if "tensorrt" in triton.get("optimization", {}) and triton["instanceGroup"]["kind"] != "KIND_GPU":
        yield Problem(
            "spec.triton.optimization.tensorrt", "needs a GPU: set instanceGroup.kind to KIND_GPU or remove it"
        )


def no_memory_limit(spec: _Spec) -> Iterator[Problem]:
    if "memory" not in spec["runtime"].get("resources", {}).get("limits", {}):
        yield Problem("spec.runtime.resources.limits", "set memory: a model that grows takes other pods with it")


def target_without_room(spec: _Spec) -> Iterator[Problem]:
    scaling = spec["autoscaling"]
    for target in ("targetQPS", "targetP95"):
        if target in scaling and scaling.get("maxReplicas", scaling["minReplicas"]) <= scaling["minReplicas"]:
            yield Problem(f"spec.autoscaling.{target}", "has no effect: set maxReplicas above minReplicas")


def timeout_below_objective(spec: _Spec) -> Iterator[Problem]:
    for name in ("p95", "p99"):
        if name in spec["slo"] and to_ms(spec["guardrails"]["timeout"]) < to_ms(spec["slo"][name]):
            yield Problem("spec.guardrails.timeout", f"is below slo.{name}: requests are cut off before it is broken")


def queue_longer_than_timeout(spec: _Spec) -> Iterator[Problem]:
    batching = spec["triton"].get("dynamicBatching")
    if batching and to_ms(batching["maxQueueDelay"]) >= to_ms(spec["guardrails"]["timeout"]):
        yield Problem(
            "spec.triton.dynamicBatching.maxQueueDelay", "is not below guardrails.timeout: requests time out waiting"
        )


def source_by_tag(spec: _Spec) -> Iterator[Problem]:
    source = spec["model"]["source"]
    if source.startswith("oci://") and "@sha256:" not in source:
        yield Problem("spec.model.source", "names an image by tag, which can move: write @sha256:<64 hex>")


def _is_graph_alone(spec: _Spec) -> bool:
    """Whether Triton loads the graph itself and no code around it: what clients send is what the graph takes."""
    triton, graph = spec["triton"], spec["model"]["format"] in _GRAPH_FORMATS
    return triton["pipeline"] == "Single" and (triton["backend"] in _GRAPH_BACKENDS if "backend" in triton else graph)


def part_that_nothing_runs(spec: _Spec) -> Iterator[Problem]:
    for part in ("preprocessor", "postprocessor"):
        if part in spec and _is_graph_alone(spec):
            remedy = "set triton.backend to python if code around the graph runs it, or triton.pipeline to Ensemble"
            yield Problem(f"spec.{part}", f"nothing runs it, for Triton loads the graph alone: {remedy}")


def contract_not_of_the_graph(spec: _Spec) -> Iterator[Problem]:
    """Yield what clients would ask of a graph that has something else; where code is around it nobody can tell."""
    if not _is_graph_alone(spec):
        return
    for side in ("inputs", "outputs"):
        graph = {tensor["name"]: tensor["datatype"] for tensor in spec["model"].get(side, ())}
        for index, tensor in enumerate(spec["contract"][side] if graph else ()):
            name, field = tensor["name"], f"spec.contract.{side}[{index}]"
            if name not in graph:
                known = ", ".join(graph)
                yield Problem(f"{field}.name", f"{name} is not among model.{side} ({known}): Triton won't load it")
            elif tensor["datatype"] != graph[name]:
                yield Problem(f"{field}.datatype", f"{name} is {graph[name]} in model.{side}: Triton won't load it")


def placeholder(spec: _Spec) -> Iterator[Problem]:
    """Yield the digests that nobody ever computed: 64 times the same digit."""
    by_hand = "write what `kubectl iv hash` prints"
    hashes = {
        "model.weightHash": (spec["model"]["weightHash"], by_hand),
        "preprocessor.configHash": (spec.get("preprocessor", {}).get("configHash", ""), by_hand),
        "postprocessor.configHash": (spec.get("postprocessor", {}).get("configHash", ""), by_hand),
        "runtime.image": (spec["runtime"]["image"].partition("@")[2], "write the digest that `docker push` prints"),
    }
    for field, (digest, remedy) in hashes.items():
        if _PLACEHOLDER.fullmatch(digest):
            yield Problem(f"spec.{field}", f"{digest[:11]}... is a placeholder: {remedy}")


def traffic_without_effect(spec: _Spec) -> Iterator[Problem]:
    """Yield what the strategy never looks at: somebody relies on it."""
    strategy = spec["traffic"]["strategy"]
    needs = {"shadow": ("Shadow", "ShadowThenCanary"), "canary": ("Canary", "ShadowThenCanary")}
    for part, strategies in needs.items():
        if part in spec["traffic"] and strategy not in strategies:
            yield Problem(f"spec.traffic.{part}", f"has no effect: traffic.strategy is {strategy}")
    if spec["traffic"].get("gates") and strategy == "Immediate":
        yield Problem("spec.traffic.gates", "has no effect: strategy Immediate asks no gate")


CHECKS: tuple[Callable[[_Spec], Iterator[Problem]], ...] = (
    gpu_without_driver,
    tensorrt_without_gpu,
    no_memory_limit,
    target_without_room,
    timeout_below_objective,
    queue_longer_than_timeout,
    source_by_tag,
    part_that_nothing_runs,
    contract_not_of_the_graph,
    placeholder,
    traffic_without_effect,
)
