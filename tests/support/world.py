"""A cluster in memory that carries plans out write by write, so that decisions can be tested as a story.

It stands in for nothing that a test asserts of Kubernetes: it keeps objects, hands out uids, and lets the test say
which Deployments have ready pods. What the real API server makes of the objects is tested on the real one.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from inferenceversion_operator.api.names import version_name
from inferenceversion_operator.core.decide import decide
from inferenceversion_operator.core.gates.answers import Measured
from inferenceversion_operator.core.snapshot import Snapshot
from tests.support.builders import ENDPOINT, NAMESPACE, SETTINGS, an_endpoint

START = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


class Crash(Exception):
    """The operator was killed."""


class World:
    """The objects of one endpoint, a clock that the test moves, and pods that the test makes ready."""

    def __init__(self, settings=SETTINGS):
        self.settings = settings
        self.now = START
        self.endpoint = None
        self.versions = {}
        self.objects = {}
        self.events = []
        self.writes = 0
        self.crash_after = None
        self.never_ready = set()
        self.traffic_log = []
        self.split_log = []
        self.gateway_works = True
        self.prometheus = {}  # answers by the key of a question; what is not here gets no samples
        self.prometheus_works = True
        self.measured = None
        self.pods = ()

    # --- what users do

    def apply(self, *versions):
        for version in versions:
            self.versions[version.name] = version
        return self

    def delete(self, version):
        gone = next(v for v in self.versions.values() if v.version == version)
        del self.versions[gone.name]
        self.objects = {k: o for k, o in self.objects.items() if self._owner(o) != gone.uid}

    def edit_endpoint(self, **changes):
        before = self.endpoint or an_endpoint()
        self.endpoint = replace(before, **{"generation": before.generation + 1, **changes})
        return self

    def ask(self, action):
        """Set the annotation by which somebody asks something of a release; it moves no generation."""
        return self.edit_endpoint(action=action, generation=self.endpoint.generation)

    # --- what the cluster does

    def pass_time(self, **delta):
        self.now += timedelta(**delta)
        return self

    def pods_become_ready(self):
        for (kind, _), obj in list(self.objects.items()):
            if kind == "Deployment":
                version = obj["metadata"]["labels"].get("inferenceversion.io/version")
                count = 0 if version in self.never_ready else obj["spec"]["replicas"]
                obj["status"] = {"replicas": obj["spec"]["replicas"], "readyReplicas": count}
                self._addresses_are_known(obj, count)

    def _addresses_are_known(self, deployment, count):
        name = deployment["metadata"]["name"]
        ready = [{"conditions": {"ready": True}, "targetRef": {"uid": f"{name}-{n}"}} for n in range(count)]
        self.objects["EndpointSlice", name] = {
            "kind": "EndpointSlice",
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "uid": f"uid-slice-{name}",
                "labels": {"kubernetes.io/service-name": name},
                "ownerReferences": [{"apiVersion": "v1", "kind": "Service", "uid": self._owner(deployment)}],
            },
            "endpoints": ready,
        }

    def gateway_takes_routes(self):
        """The Gateway's controller accepts the routes as they are now."""
        for (kind, _), route in self.objects.items():
            if kind in ("HTTPRoute", "GRPCRoute") and self.gateway_works:
                seen = {"status": "True", "observedGeneration": route["metadata"]["generation"]}
                conditions = [{"type": kind, **seen} for kind in ("Accepted", "ResolvedRefs")]
                refs = route["spec"]["parentRefs"]
                route["status"] = {"parents": [{"parentRef": ref, "conditions": conditions} for ref in refs]}

    def prometheus_answers(self, plan):
        """Prometheus answers what the last plan asked."""
        if plan.questions and self.prometheus_works:
            answers = {key: self.prometheus.get(key, ()) for key in plan.questions}
            self.measured = Measured(plan.asked_for, self.now, answers)
            return True
        return False

    # --- what the operator does

    def look(self):
        return Snapshot(
            namespace=NAMESPACE,
            name=ENDPOINT,
            settings=self.settings,
            endpoint=self.endpoint,
            versions=tuple(self.versions[name] for name in sorted(self.versions)),
            objects=tuple(self.objects.values()),
            measured=self.measured,
            pods=self.pods,
        )

    def step(self):
        """Decide once and carry the plan out; return how many writes it took."""
        plan = decide(self.look(), self.now)
        before = self.writes
        for write in self._writes_of(plan):
            if self.crash_after is not None and self.writes >= self.crash_after:
                self.crash_after = None
                raise Crash
            if write():
                self.writes += 1
        self.events += plan.events
        self.plan = plan
        return self.writes - before

    def settle(self, ready=True, most=30):
        """Step until nothing is written any more."""
        for _ in range(most):
            if ready:
                self.pods_become_ready()
            self.gateway_takes_routes()
            if self.step() == 0 and not self._hears_something_new():
                return self
        raise AssertionError("the operator does not come to rest")

    def _hears_something_new(self):
        before = self.measured
        answered = self.prometheus_answers(self.plan)
        return answered and self.measured != before

    # --- what tests ask

    @property
    def serving(self):
        """The version that the route sends everything to."""
        route = self.objects.get(("HTTPRoute", ENDPOINT))
        if route is None:
            return None
        backend = route["spec"]["rules"][0]["backendRefs"][0]["name"]
        return next((v.version for v in self.versions.values() if version_name(v.name) == backend), "gone")

    @property
    def weights(self):
        """Shares of live requests by version, as the route has them."""
        route = self.objects.get(("HTTPRoute", ENDPOINT))
        names = {version_name(v.name): v.version for v in self.versions.values()}
        backends = route["spec"]["rules"][0]["backendRefs"] if route else ()
        return {names.get(backend["name"], "gone"): backend["weight"] for backend in backends if backend["weight"]}

    @property
    def mirrored(self):
        """The percentage of requests that are copied to the differ."""
        route = self.objects.get(("HTTPRoute", ENDPOINT))
        filters = route["spec"]["rules"][0].get("filters", ()) if route else ()
        return next((entry["requestMirror"]["percent"] for entry in filters), 0)

    @property
    def candidate(self):
        return self.endpoint.status.get("candidate")

    @property
    def history(self):
        return [(entry["version"], entry["outcome"], entry["reason"]) for entry in self.endpoint.status["history"]]

    def roles(self):
        return {v.version: v.status.get("role") for v in self.versions.values()}

    def condition(self, version, kind):
        wanted = next(v for v in self.versions.values() if v.version == version)
        return next((c for c in wanted.status.get("conditions", ()) if c["type"] == kind), None)

    def endpoint_condition(self, kind):
        return next((c for c in self.endpoint.status.get("conditions", ()) if c["type"] == kind), None)

    def replicas(self, version):
        wanted = next(v for v in self.versions.values() if v.version == version)
        deployment = self.objects.get(("Deployment", version_name(wanted.name)))
        return deployment["spec"]["replicas"] if deployment else None

    def summary(self):
        """What must be the same however often the operator was killed: everything but times."""
        ours = {key: obj for key, obj in self.objects.items() if key[0] != "EndpointSlice"}
        bare = ("metadata", "status")
        objects = {key: {k: v for k, v in obj.items() if k not in bare} for key, obj in ours.items()}
        status = self.endpoint.status if self.endpoint else {}
        history = [(e["version"], e["outcome"]) for e in status.get("history", ())]
        return objects, self.roles(), self.serving, status.get("stable"), status.get("phase"), history

    # --- inside

    def _writes_of(self, plan) -> Iterator:
        for obj in plan.capacity:
            yield lambda obj=obj: self._put(obj)
        for status in plan.version_statuses:
            yield lambda status=status: self._version_status(status)
        if plan.endpoint_status:
            yield lambda: self._endpoint_status(plan.endpoint_status)
        for obj in (*plan.traffic, *(() if plan.gateway_lags else plan.release)):
            yield lambda obj=obj: self._put(obj)
        for ref in () if plan.gateway_lags else plan.prune:
            yield lambda ref=ref: self._delete(ref)

    def _put(self, obj):
        if obj["kind"] == "InferenceEndpoint":
            changed = self.endpoint is None
            self.endpoint = self.endpoint or an_endpoint()
            return changed
        key = (obj["kind"], obj["metadata"]["name"])
        live = self.objects.get(key)
        if live is not None and all(live.get(k) == v for k, v in obj.items() if k != "metadata"):
            return False
        stored = dict(obj)
        generation = live["metadata"]["generation"] + 1 if live else 1
        stored["metadata"] = {**obj["metadata"], "uid": f"uid-{key[0]}-{key[1]}", "generation": generation}
        if live is not None and "status" in live:
            stored["status"] = live["status"]
        self.objects[key] = stored
        if obj["kind"] == "HTTPRoute":
            self.traffic_log.append((self.serving, self._is_ready(self.serving)))
            self.split_log.append(
                {version: (weight, self._is_ready(version)) for version, weight in self.weights.items()}
            )
        return True

    def _is_ready(self, version):
        wanted = next((v for v in self.versions.values() if v.version == version), None)
        deployment = self.objects.get(("Deployment", version_name(wanted.name))) if wanted else None
        return bool(deployment and deployment.get("status", {}).get("readyReplicas"))

    def _version_status(self, status):
        version = self.versions.get(status.ref.name)
        if version is None or version.status == status.status:
            return False
        self.versions[version.name] = replace(version, status=status.status)
        return True

    def _endpoint_status(self, status):
        if self.endpoint.status == status.status:
            return False
        self.endpoint = replace(self.endpoint, status=status.status)
        return True

    def _delete(self, ref):
        if ref.kind == "InferenceEndpoint":
            gone, self.endpoint = self.endpoint, None
            self.objects = {k: o for k, o in self.objects.items() if self._owner(o) != gone.uid}
            return True
        return self.objects.pop((ref.kind, ref.name), None) is not None

    @staticmethod
    def _owner(obj):
        return obj["metadata"]["ownerReferences"][0]["uid"]
