"""Two answers and what they mean for a release."""

import pytest

from inferenceversion_operator.api.types import Tolerance
from inferenceversion_operator.differ.compare import Kind
from inferenceversion_operator.differ.judge import Answer, Failed, Protocol, input_bytes, judge
from tests.unit.differ.support import a_copy, a_plan, binary_answer, grpc_answer, http, json_answer

FAILED = Answer(problem="HTTP 500: broken")
GARBAGE = http(b"<html>")
GOOD = http(json_answer())


@pytest.mark.parametrize(
    ("stable", "candidate", "compared", "mismatched", "failed"),
    [
        (GOOD, GOOD, True, False, None),
        (GOOD, http(json_answer(["negative"])), True, True, None),
        (GOOD, FAILED, True, True, Failed.CANDIDATE),
        (GOOD, GARBAGE, True, True, Failed.CANDIDATE),
        (FAILED, GOOD, False, False, Failed.STABLE),
        (GARBAGE, GOOD, False, False, Failed.STABLE),
        (FAILED, FAILED, False, False, Failed.BOTH),
        (GARBAGE, FAILED, False, False, Failed.BOTH),
    ],
)
def test_a_failure_counts_against_the_candidate_only_where_stable_answered(
    stable, candidate, compared, mismatched, failed
):
    found = judge(a_plan(), Protocol.HTTP, stable, candidate)
    assert (found.compared, found.mismatched, found.failed) == (compared, mismatched, failed)


def test_a_failed_candidate_is_a_mismatch_of_its_own_kind_that_says_why():
    found = judge(a_plan(), Protocol.HTTP, GOOD, FAILED)
    assert [(d.output, d.kind, d.detail) for d in found.differences] == [("", Kind.FAILED, "HTTP 500: broken")]
    assert found.problems == {"candidate": "HTTP 500: broken"}


def test_what_differs_from_answer_to_answer_does_not_count():
    one = http(json_answer(id="1", parameters={"sequence_id": 1}))
    other = http(json_answer(id="2", model_version="7", model_name="news_sentiment"))
    assert not judge(a_plan(), Protocol.HTTP, one, other).mismatched


def test_json_and_binary_are_one():
    assert not judge(a_plan(), Protocol.HTTP, GOOD, http(*binary_answer())).mismatched
    assert judge(a_plan(), Protocol.HTTP, GOOD, http(*binary_answer(["neutral"]))).mismatched


def test_messages_of_grpc_are_compared():
    one, other = http(grpc_answer()), http(grpc_answer(scores=(0.1, 0.2, 0.7001)))
    assert not judge(a_plan(), Protocol.GRPC, one, http(grpc_answer(raw=False))).mismatched
    assert judge(a_plan(), Protocol.GRPC, one, other).mismatched
    assert not judge(a_plan(tolerance=Tolerance(0.001)), Protocol.GRPC, one, other).mismatched


def test_an_answer_without_outputs_is_one():
    nothing = http(b"")
    assert judge(a_plan(), Protocol.GRPC, http(grpc_answer()), nothing).differences[0].kind is Kind.MISSING


def test_inputs_are_measured_by_their_protocol():
    assert input_bytes(a_copy(b"\xff" * 9, Protocol.GRPC)) == 9
    assert input_bytes(a_copy(b'{"inputs":[]}12345', header_length=13)) == 5
