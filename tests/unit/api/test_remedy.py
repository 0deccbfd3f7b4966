"""A value of the wrong type: what to write instead is told, and it would be taken."""

import pytest
import yaml

from inferenceversion_operator.api.schema import validate
from tests.bad_input.table import base
from tests.support.merge_patch import merged

QUOTES = "put it in quotes"
TABLE = [  # what is written below spec, the field, the end of what is said, what would be taken
    ("version: 2.4", "version", "three numbers, no leading v, no leading zeros", "version: 2.4.0"),
    ("version: 2", "version", "three numbers, no leading v, no leading zeros", "version: 2.0.0"),
    ("runtime: {cuda: 12.10}", "runtime.cuda", f"{QUOTES} (YAML reads 12.10 as 12.1)", 'runtime: {cuda: "12.10"}'),
    ("model: {framework: yes}", "model.framework", QUOTES, 'model: {framework: "yes"}'),
    ("preprocessor: {version: 3}", "preprocessor.version", QUOTES, 'preprocessor: {version: "3"}'),
    (
        "guardrails: {timeout: 5}",
        "guardrails.timeout",
        "write whole numbers with h, m, s or ms, such as 10ms, 5s or 1m30s",
        "guardrails: {timeout: 5s}",
    ),
    (
        "slo: {errorRate: 0.1}",
        "slo.errorRate",
        "write a share between 0% and 100% such as 0.1%",
        "slo: {errorRate: 0.1%}",
    ),
    (
        "guardrails: {maxRequestSize: 1.5}",
        "guardrails.maxRequestSize",
        "with k, M, G or Ki, Mi, Gi (not 2MB but 2M or 2Mi)",
        "guardrails: {maxRequestSize: 1536Ki}",
    ),
    ('autoscaling: {minReplicas: "3"}', "autoscaling.minReplicas", "write 3 without quotes", "autoscaling: {minReplicas: 3}"),
    ("autoscaling: {minReplicas: 3.0}", "autoscaling.minReplicas", "write 3", "autoscaling: {minReplicas: 3}"),
    ("autoscaling: {minReplicas: two}", "autoscaling.minReplicas", "write a whole number", "autoscaling: {minReplicas: 2}"),
    ("triton: {warmup: {enabled: 1}}", "triton.warmup.enabled", "write true or false, without quotes", "triton: {warmup: {enabled: true}}"),
    ("triton: {warmup: false}", "triton.warmup", "write its fields: enabled", "triton: {warmup: {enabled: false}}"),
    (
        "triton: {parameters: fast}",
        "triton.parameters",
        "write pairs of a name and a value",
        'triton: {parameters: {fast: "1"}}',
    ),
    ("runtime: {tolerations: all}", "runtime.tolerations", "or all of them in [ ]", "runtime: {tolerations: [{operator: Exists}]}"),
    ("endpoint: [news]", "endpoint", "not array", "endpoint: news"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "field", "said", "right"), TABLE, ids=[row[0] for row in TABLE])
def test_what_to_write_instead_is_told(wrong, field, said, right):
    (problem,) = validate(merged(base(), {"spec": yaml.safe_load(wrong)}))
    assert problem.field == f"spec.{field}"
    assert problem.message.startswith("must be of type ")
    assert problem.message.endswith(said)
    assert validate(merged(base(), {"spec": yaml.safe_load(right)})) == []
