"""What is counted, and what Prometheus and people get to see of it."""

import json
import math
from datetime import UTC, datetime

import pytest
from prometheus_client.parser import text_string_to_metric_families

from inferenceversion_operator.api.types import Tensor
from inferenceversion_operator.differ.compare import Kind
from inferenceversion_operator.differ.histogram import Histogram
from inferenceversion_operator.differ.judge import Answer, Failed, Judgement, Protocol, judge
from inferenceversion_operator.differ.labels import LabelTable, clean
from inferenceversion_operator.differ.metrics import Exposition
from inferenceversion_operator.differ.sample import Sample
from inferenceversion_operator.differ.tally import Drop, Tally
from inferenceversion_operator.differ.wire.tensors import from_elements
from tests.unit.differ.support import a_copy, a_plan, http, json_answer

PLAN = a_plan()
OWN = {
    "inference_namespace": "news",
    "inference_endpoint": "sentiment",
    "inference_version": "1.1.0",
    "inference_stable": "1.0.0",
}


def judged(stable, candidate, plan=PLAN):
    return judge(plan, Protocol.HTTP, http(stable), http(candidate))


def samples(tally, plan=PLAN):
    """Return what Prometheus would store: (name, labels beside our own) -> value."""
    text = Exposition(plan, tally).text().decode()
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            assert OWN.items() <= sample.labels.items()
            labels = {key: value for key, value in sample.labels.items() if key not in OWN}
            found[sample.name, *sorted(labels.items())] = sample.value
    return found


def test_what_gates_add_up_is_there_from_the_start_and_zero():
    found = samples(Tally(PLAN))
    wanted = {
        *[(f"inference_shadow_{name}_total",) for name in ("received", "compared", "mismatched")],
        *[(f"inference_shadow_noise_{name}_total",) for name in ("compared", "mismatched")],
        *[("inference_shadow_dropped_total", ("reason", why.value)) for why in Drop],
        *[("inference_shadow_failed_total", ("side", side)) for side in ("candidate", "stable", "both")],
        ("inference_shadow_mismatches_total", ("kind", "failed"), ("output", "")),
        *[
            ("inference_shadow_mismatches_total", ("kind", kind), ("output", output))
            for kind in ("value", "shape", "missing")
            for output in ("LABEL", "SCORES")
        ],
        *[
            ("inference_shadow_scores_bucket", ("le", "1.0"), ("output", "SCORES"), ("side", side))
            for side in ("stable", "candidate")
        ],
        ("inference_shadow_input_length_bucket", ("le", "+Inf")),
        *[("inference_shadow_replay_seconds_bucket", ("le", "+Inf"), ("side", s)) for s in ("stable", "candidate")],
    }
    assert wanted <= found.keys()
    assert set(found.values()) == {0}


def test_a_comparison_is_counted():
    tally = Tally(PLAN)
    same = json_answer(["positive", "neutral"], [0.1, 0.2, 0.7, 0.3, 0.4, 0.3])
    other = json_answer(["positive", "negative"], [0.1, 0.2, 0.7, 0.5, 0.2, 0.3])
    tally.judged(judged(same, same))
    tally.judged(judged(same, other))
    tally.judged(judged(same, b"garbage"))
    tally.judged(judged(b"garbage", same))
    tally.judged(judged(b"garbage", b"garbage"))
    found = samples(tally)
    name = "inference_shadow_"
    assert found[f"{name}compared_total",] == 3
    assert found[f"{name}mismatched_total",] == 2
    assert [found[f"{name}failed_total", ("side", side)] for side in ("candidate", "stable", "both")] == [1, 1, 1]
    assert found[f"{name}mismatches_total", ("kind", "value"), ("output", "LABEL")] == 1
    assert found[f"{name}mismatches_total", ("kind", "value"), ("output", "SCORES")] == 1
    assert found[f"{name}mismatches_total", ("kind", "failed"), ("output", "")] == 1
    labels = f"{name}labels_total"
    assert found[labels, ("label", "positive"), ("output", "LABEL"), ("side", "stable")] == 2
    assert found[labels, ("label", "neutral"), ("output", "LABEL"), ("side", "stable")] == 2
    assert found[labels, ("label", "negative"), ("output", "LABEL"), ("side", "candidate")] == 1
    flips = f"{name}label_flips_total"
    assert found[flips, ("candidate_label", "negative"), ("output", "LABEL"), ("stable_label", "neutral")] == 1
    scores = f"{name}scores_bucket"
    assert found[scores, ("le", "0.25"), ("output", "SCORES"), ("side", "stable")] == 4
    assert found[scores, ("le", "0.25"), ("output", "SCORES"), ("side", "candidate")] == 5
    assert found[scores, ("le", "+Inf"), ("output", "SCORES"), ("side", "candidate")] == 12


def test_noise_is_counted_apart_and_a_failure_is_none():
    tally = Tally(PLAN)
    tally.judged_noise(judged(json_answer(), json_answer()))
    tally.judged_noise(judged(json_answer(), json_answer(["neutral"])))
    tally.judged_noise(judged(json_answer(), b"garbage"))
    assert (tally.noise_compared, tally.noise_mismatched) == (2, 1)
    assert (tally.compared, tally.mismatched) == (0, 0)
    assert not tally.labels


def test_labels_are_few_short_and_printable():
    table = LabelTable()
    assert table.label(b"positive") == "positive"
    assert table.label(b"") == "(empty)"
    assert table.label(b"\x1b[31mred\n\xff") == "?[31mred??".replace("??", "?�")
    assert table.label("é".encode() * 100) == "é" * 64
    names = {table.label(f"label-{n}".encode()) for n in range(1000)}
    assert len(names) == 50 - 4 + 1
    assert "other" in names
    assert table.label(b"positive") == "positive"


def test_clean_text_has_no_control_characters():
    assert clean(bytes(range(256)), 300).isprintable()


def test_pairs_of_labels_are_few():
    tally = Tally(PLAN)
    for n in range(40):
        ours = json_answer([f"a{k}" for k in range(20)], [0.0] * 60)
        theirs = json_answer([f"b{(k + n) % 25}" for k in range(20)], [0.0] * 60)
        tally.judged(judged(ours, theirs))
    assert len(tally.flips) <= 201
    assert sum(tally.flips.values()) == 800
    assert tally.flips["LABEL", "other", "other"] > 0


@pytest.mark.parametrize("bad", ['a"b\\c\nd', "{}", "\u2028"])
def test_label_texts_do_not_break_the_exposition(bad):
    tally = Tally(PLAN)
    tally.judged(judged(json_answer([bad]), json_answer()))
    assert len([key for key in samples(tally) if key[0] == "inference_shadow_labels_total"]) == 2


def test_of_a_large_output_every_column_is_looked_at():
    plan = a_plan(outputs=(Tensor("OUT", "FP32", (2,)),))
    tally = Tally(plan)
    values = from_elements("FP32", (10_000, 2), [0.1, 0.9] * 10_000)
    tally.judged(Judgement(compared=True, stable={"OUT": values}, candidate={"OUT": values}))
    bounds = dict(tally.scores["OUT", "stable"].cumulative())
    assert (bounds["0.5"], bounds["+Inf"]) == (512, 1024)


def test_of_a_large_output_every_quarter_is_looked_at():
    plan = a_plan(outputs=(Tensor("OUT", "FP32", (-1,)),))
    tally = Tally(plan)
    values = from_elements("FP32", (1, 4000), [quarter / 4 for quarter in range(4) for _ in range(1000)])
    tally.judged(Judgement(compared=True, stable={"OUT": values}, candidate={"OUT": values}))
    bounds = dict(tally.scores["OUT", "stable"].cumulative())
    assert [bounds[bound] for bound in ("0.0", "0.25", "0.5", "0.75")] == [256, 512, 768, 1024]


def test_histograms_put_nan_above_all_bounds():
    histogram = Histogram((0.0, 1.0))
    histogram.add_all([-1.0, 0.0, 0.5, 1.0, 2.0, math.nan, math.inf])
    assert dict(histogram.cumulative()) == {"0.0": 2, "1.0": 4, "+Inf": 7}


def test_an_output_that_changed_its_datatype_is_counted_as_what_it_is():
    tally = Tally(a_plan(outputs=(Tensor("OUT", "FP32", (1,)),)))
    numbers, texts = from_elements("FP32", (1,), [0.5]), from_elements("BYTES", (1,), [b"x"])
    tally.judged(Judgement(compared=True, stable={"OUT": numbers}, candidate={"OUT": texts}))
    assert tally.labels == {("OUT", "candidate", "x"): 1}


def sampled(plan, *pairs, noise=False):
    sample = Sample(plan)
    for number, (stable, candidate) in enumerate(pairs):
        answers = {"stable": http(stable), "candidate": http(candidate)}
        copy = a_copy(b"the request", digest=f"{number:064d}")
        sample.keep(datetime(2026, 11, 30, tzinfo=UTC), copy, judged(stable, candidate, plan), answers, noise=noise)
    return json.loads(json.dumps(sample.document(), allow_nan=False))


def test_a_difference_is_kept_without_the_payload():
    document = sampled(PLAN, (json_answer(), json_answer(["neutral"], [math.nan, 0.2, 0.7])))
    (entry,) = document["differences"]
    assert entry["requestHash"] == "sha256:" + "0" * 64
    assert entry["at"] == "2026-11-30T00:00:00.000+00:00"
    assert "payloads" not in entry
    label, scores = entry["outputs"]
    assert label == {
        "output": "LABEL",
        "kind": "value",
        "detail": "1 of 1 elements differ",
        "count": 1,
        "rows": [0],
        "elements": [{"index": 0, "stable": "positive", "candidate": "neutral"}],
    }
    assert scores["elements"][0]["candidate"] == "nan"
    assert document["candidate"] == {"version": "1.1.0", "name": "sentiment-1.1.0"}


def test_payloads_are_kept_where_that_was_asked_for_and_cut():
    plan = a_plan(keep_payloads=True)
    long = json_answer(["x" * 100_000])
    (entry,) = sampled(plan, (json_answer(), long))["differences"]
    assert entry["payloads"]["request"] == {"bytes": 11, "base64": "dGhlIHJlcXVlc3Q="}
    assert entry["payloads"]["candidate"]["cut"]
    assert len(json.dumps(entry)) < 200_000


def test_the_newest_differences_come_first_and_old_ones_go():
    document = sampled(PLAN, *[(json_answer(), json_answer(["neutral"]))] * 9)
    assert [int(entry["requestHash"][7:]) for entry in document["differences"]] == [8, 7, 6, 5, 4]
    assert document["noise"] == []


def test_noise_has_a_sample_of_its_own():
    document = sampled(PLAN, (json_answer(), json_answer(["neutral"])), noise=True)
    assert (len(document["noise"]), len(document["differences"])) == (1, 0)


def test_a_long_hostile_message_is_cut():
    judgement = judge(PLAN, Protocol.HTTP, http(json_answer()), Answer(problem="\x1b" + "x" * 10_000))
    sample = Sample(PLAN)
    sample.keep(datetime.now(UTC), a_copy(), judgement, {}, noise=False)
    (output,) = sample.document()["differences"][0]["outputs"]
    assert len(output["detail"]) == 200
    assert output["kind"] == Kind.FAILED
    assert judgement.failed is Failed.CANDIDATE
