"""What two processes, or code and chart, or code and docs, have to spell alike though neither can import the other."""

import json
import re
from pathlib import Path

import pytest

from inferenceversion_operator.api.labels import ANNOTATION_DELETE_PROTECTION
from inferenceversion_operator.core import version_status
from inferenceversion_operator.core.objects import pod, service
from inferenceversion_operator.core.objects.config_map import make_config_map
from inferenceversion_operator.core.objects.guard import clusters, listeners
from inferenceversion_operator.core.objects.source import SOURCE_MOUNT
from inferenceversion_operator.fetch.__main__ import parse
from inferenceversion_operator.fetch.errors import Reason
from inferenceversion_operator.fetch.plan import parse_plan
from tests.support.builders import SETTINGS, a_version

ROOT = Path(__file__).resolve().parents[2]
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
PLANS = sorted((ROOT / "tests" / "golden" / "fetch_plan").glob("*.json"))
VERSION = a_version("2.4.1")
POD = pod.make_pod_spec(VERSION, "config", SETTINGS)
CONTAINERS = {c["name"]: c for c in [*POD["initContainers"], *POD["containers"]]}


def test_fetch_takes_the_arguments_that_its_container_has():
    options = parse(CONTAINERS["fetch"]["args"])
    mounts = {mount["mountPath"] for mount in CONTAINERS["fetch"]["volumeMounts"]}
    assert {str(options.configs), str(options.plan.parent), str(options.models.parent)} <= mounts
    assert options.work.parent == options.models.parent, "a move between two mounts is a copy"
    assert options.plan.name in make_config_map(VERSION)["data"]
    assert SOURCE_MOUNT in mounts


@pytest.mark.parametrize("path", PLANS, ids=lambda path: path.stem)
def test_fetch_reads_the_plans_that_the_operator_writes(path):
    assert parse_plan(json.loads(path.read_text())).source


def test_the_operator_knows_which_of_fetchs_reasons_need_a_person():
    needs = {reason.value for reason in Reason} - {"Verified", "SourceUnreachable"}
    assert needs <= version_status._NEEDS_A_PERSON


def test_the_pod_opens_the_ports_that_the_guard_listens_on_and_triton_those_that_it_calls():
    assert (pod.HTTP, pod.GRPC, pod.PROBES) == (listeners.HTTP_PORT, listeners.GRPC_PORT, listeners.PROBE_PORT)
    assert f"--http-port={clusters.TRITON_HTTP_PORT}" in CONTAINERS["triton"]["args"]
    assert f"--grpc-port={clusters.TRITON_GRPC_PORT}" in CONTAINERS["triton"]["args"]


def test_a_service_names_ports_of_the_guard():
    named = {port["name"] for port in CONTAINERS["guard"]["ports"]}
    ports = service.make_version_service(VERSION)["spec"]["ports"]
    assert {port["targetPort"] for port in ports} <= named


def test_the_chart_spells_the_annotation_of_delete_protection():
    policy = (ROOT / "charts/inferenceversion-operator/templates/deleteprotection.yaml").read_text()
    assert set(re.findall(r"inferenceversion\.io/[a-z-]+", policy)) == {ANNOTATION_DELETE_PROTECTION}


def test_the_architecture_page_has_every_container_volume_port_and_reason():
    words = set(re.findall(r"[\w.-]+", ARCHITECTURE))
    ports = [str(p["containerPort"]) for c in CONTAINERS.values() for p in c.get("ports", ())]
    names = [p["name"] for c in CONTAINERS.values() for p in c.get("ports", ())]
    volumes = [volume["name"] for volume in POD["volumes"]]
    wanted = [*CONTAINERS, *volumes, *ports, *names, *Reason, *make_config_map(VERSION)["data"]]
    assert [word for word in wanted if word not in words] == []


def test_the_road_of_a_change_names_files_that_are_there():
    road = re.findall(r"^((?:[a-z]+/)*[a-z_]+\.py)\s", ARCHITECTURE, re.MULTILINE)
    assert len(road) >= 6
    assert [path for path in road if not (ROOT / "operator/inferenceversion_operator" / path).is_file()] == []
