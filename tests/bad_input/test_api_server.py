"""The table of bad input against a real API server of its own: the same verdict as offline, and nothing is stored."""

import json
import re
import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml
from kubernetes import client, config

from inferenceversion_operator.api.crds import definitions
from inferenceversion_operator.api.defaults import with_defaults
from inferenceversion_operator.api.digest import snapshot_digest
from tests.bad_input.table import Case, base, cases
from tests.support.control_plane import control_plane
from tests.support.wait import NotYet, wait_until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore:Unverified HTTPS request"),  # of the API server on loopback
]
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").rglob("*.yaml"))
PLURALS = {"InferenceVersion": "inferenceversions", "InferenceEndpoint": "inferenceendpoints"}


@pytest.fixture(scope="module")
def kubeconfig(tmp_path_factory):
    if shutil.which("go") is None:
        pytest.skip("the control plane is built from source: Go is not there")
    with control_plane(tmp_path_factory.mktemp("bad-input")) as plane:
        yield str(plane.kubeconfig)


@pytest.fixture(scope="module")
def server(kubeconfig):
    """The API of our group in a namespace of its own, with the CRDs of this tree."""
    settings = client.Configuration()
    config.load_kube_config(kubeconfig, client_configuration=settings)
    api = client.ApiClient(settings)
    crds = client.ApiextensionsV1Api(api)
    for crd in definitions().values():
        crds.patch_custom_resource_definition(
            crd["metadata"]["name"],
            crd,
            field_manager="tests",
            force=True,
            _content_type="application/apply-patch+yaml",
        )
    core = client.CoreV1Api(api)
    namespace = f"bad-input-{secrets.token_hex(4)}"
    core.create_namespace({"metadata": {"name": namespace}})
    server = Server(client.CustomObjectsApi(api), namespace)
    server.wait_until_served()
    yield server
    core.delete_namespace(namespace)


class Server:
    def __init__(self, api, namespace):
        self.api = api
        self.where = {"group": "inferenceversion.io", "version": "v1alpha1", "namespace": namespace}

    def wait_until_served(self):
        def taken():
            answers = [self.create(base(kind)) for kind in PLURALS]
            if not all(isinstance(answer, Mapping) for answer in answers):
                raise NotYet(answers)
            return True

        wait_until("waiting until both kinds are served", taken, within=30)

    def create(self, manifest, *, dry_run=True):
        """Return the object as it is stored, or the message that it is refused with."""
        how = {"dry_run": "All"} if dry_run else {}
        place = self.where | {"plural": PLURALS[manifest["kind"]]}
        return self._told(self.api.create_namespaced_custom_object, **place, body=manifest, **how)

    def replace(self, manifest):
        place = self.where | {"plural": PLURALS[manifest["kind"]], "name": manifest["metadata"]["name"]}
        return self._told(self.api.replace_namespaced_custom_object, **place, body=manifest, dry_run="All")

    @staticmethod
    def _told(call, **arguments):
        try:
            return call(**arguments, field_validation="Strict")
        except client.ApiException as refused:
            return json.loads(refused.body)["message"]


@pytest.fixture(scope="module")
def stored(server):
    """The base object, stored: what a change is a change of."""
    answer = server.create({**base(), "metadata": {"name": "stored"}}, dry_run=False)
    assert isinstance(answer, Mapping), answer
    return answer


def dotted(text):
    """Return the text with keys of maps as the schema's messages write them; those of the rules have brackets."""
    return re.sub(r"(?<=\w)\[([a-z][^\]]*)\]", r".\1", text)


def named(*layers, change=False):
    chosen = [case for case in cases(*layers) if (case.stored is not None) is change]
    return pytest.mark.parametrize("case", chosen, ids=lambda case: case.name)


@named("schema")
def test_server_refuses_with_the_same_message(server, case: Case):
    answer = server.create(case.manifest)
    assert isinstance(answer, str), "it was taken"
    assert case.message in answer
    assert dotted(case.field) in dotted(answer)


@named("schema", change=True)
def test_server_refuses_the_change(server, stored, case: Case):
    changed = {**case.manifest, "metadata": stored["metadata"]}
    answer = server.replace(changed)
    assert isinstance(answer, str), "it was taken"
    assert case.message in answer
    assert case.field in answer


def test_server_takes_a_change_of_what_may_change(server, stored):
    changed = {**base(), "metadata": stored["metadata"]}
    changed["spec"] |= {"autoscaling": {"minReplicas": 3}, "traffic": {"strategy": "Immediate", "gates": []}}
    assert isinstance(server.replace(changed), Mapping)


@named("lint", "condition")
def test_server_leaves_it_to_others(server, case: Case):
    for manifest in (*case.also, case.manifest):
        answer = server.create(manifest)
        assert isinstance(answer, Mapping), answer


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_server_takes_the_examples_and_defaults_them_as_we_do(server, path):
    for manifest in yaml.safe_load_all(path.read_text("utf-8")):
        answer = server.create(manifest)
        assert isinstance(answer, Mapping), answer
        assert answer["spec"] == with_defaults(manifest["kind"], manifest)["spec"]
        if manifest["kind"] == "InferenceVersion":
            assert snapshot_digest(answer["spec"]) == snapshot_digest(manifest["spec"])
