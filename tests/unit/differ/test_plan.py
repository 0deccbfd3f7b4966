"""differ.json: what is read, and what is said about one that can't be."""

import copy
import json

import pytest

from inferenceversion_operator.api.types import Tolerance
from inferenceversion_operator.differ.__main__ import main, parse
from inferenceversion_operator.differ.plan import PlanInvalidError, load_plan, read_plan
from tests.unit.differ.support import a_plan, plan_document

PLAN = a_plan(tolerance=Tolerance(0.01, 0.001), self_share=0.2, keep_payloads=True)
DOCUMENT = plan_document(PLAN)


def test_a_plan_is_read_as_it_was_meant():
    assert read_plan(json.dumps(DOCUMENT)) == PLAN


def spoiled(path, value):
    document = copy.deepcopy(DOCUMENT)
    *road, last = path.split(".")
    place = document
    for key in road:
        place = place[int(key)] if key.isdigit() else place[key]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("namespace", ..., "namespace is missing or no text"),
        ("endpoint", 1, "endpoint is missing or no text"),
        ("stable", None, "stable is not a JSON object"),
        ("candidate.host", "", "candidate.host is missing or no text"),
        ("candidate.httpPort", 0, "candidate.httpPort is not between 1 and 65535"),
        ("candidate.httpPort", 1.5, "candidate.httpPort is no whole number"),
        ("candidate.httpPort", True, "candidate.httpPort is missing or no number"),
        ("outputs", {}, "outputs is missing or no list"),
        ("outputs.0.shape", ["a"], "outputs[0].shape is missing or no list of sizes"),
        ("tolerance.absolute", -1, "tolerance.absolute is not between 0 and inf"),
        ("tolerance.absolute", float("nan"), "tolerance.absolute is missing or no number"),
        ("limits.queue", 0, "limits.queue is not between 1 and 100000"),
        ("selfShare", 1.1, "selfShare is not between 0 and 1"),
        ("keepPayloads", "no", "keepPayloads is neither true nor false"),
    ],
)
def test_a_plan_that_is_wrong_names_the_field(path, value, said):
    with pytest.raises(PlanInvalidError) as refused:
        read_plan(spoiled(path, value))
    assert str(refused.value) == f"differ.json: {said}"


def test_payloads_are_not_kept_unless_that_is_said():
    assert read_plan(spoiled("keepPayloads", ...)).keep_payloads is False


@pytest.mark.parametrize("text", ["", "[]", "{", "[" * 100_000])
def test_what_is_no_plan_is_refused(text):
    with pytest.raises(PlanInvalidError):
        read_plan(text)


def test_a_file_that_is_too_large_or_not_there_is_refused(tmp_path):
    with pytest.raises(PlanInvalidError, match="No such file"):
        load_plan(tmp_path / "differ.json")
    (tmp_path / "differ.json").write_bytes(b" " * (2 << 20))
    with pytest.raises(PlanInvalidError, match="larger than 1 MiB"):
        load_plan(tmp_path / "differ.json")


def test_the_process_ends_with_a_message_where_its_plan_is_wrong(tmp_path, caplog):
    (tmp_path / "differ.json").write_text("{}")
    assert main([f"--plan={tmp_path / 'differ.json'}"]) == 1
    assert "namespace is missing" in caplog.text


def test_the_ports_are_those_of_the_pod():
    _, ports = parse(["--plan=x"])
    assert (ports.http, ports.grpc, ports.probes) == (8080, 8081, 9902)
