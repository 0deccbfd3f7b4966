"""``fetch.json``: what the fetch container gets, checks and lays out (docs/architecture.md has the contract)."""

import json
from typing import Any

from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.objects.repository import (
    RepositoryModel,
    Step,
    entries_of,
    file_name_of,
    repository_models,
)
from inferenceversion_operator.core.objects.source import SOURCE_MOUNT, is_mounted
from inferenceversion_operator.core.objects.triton_config import ENSEMBLE_KEEP_KEY, warmup_files

FETCH_KEY = "fetch.json"
_STEPS = {"preprocessor": Step.PRE, "postprocessor": Step.POST}  # what a part becomes in an ensemble


def make_fetch_plan(version: InferenceVersion) -> dict[str, Any]:
    """Return the content of ``fetch.json``."""
    models = repository_models(version)
    plan: dict[str, Any] = {"source": version.model.source}
    if is_mounted(version):
        plan["mounted"] = SOURCE_MOUNT
    return plan | {
        "weightHash": version.model.weight_hash,
        "fileName": file_name_of(version),
        "parts": _hashed_parts(version),
        "layout": _layout(version, models),
        "needs": entries_of(version),
        "configs": _configs(version, models),
    }


def make_fetch_plan_json(version: InferenceVersion) -> str:
    """Return ``fetch.json`` as text, the same bytes for the same version."""
    return json.dumps(make_fetch_plan(version), indent=2, ensure_ascii=True) + "\n"


def _hashed_parts(version: InferenceVersion) -> list[dict[str, str]]:
    """Return the subtrees with a hash of their own; what has none is covered by ``weightHash``."""
    return [
        {"name": name, "path": part.path, "hash": part.config_hash}
        for name, part in version.parts.items()
        if part.config_hash
    ]


def _layout(version: InferenceVersion, models: list[RepositoryModel]) -> list[dict[str, str]]:
    """Return which subtree of the source goes to which directory below ``/models``."""
    by_step = {model.step: model for model in models}
    graph = by_step.get(Step.MODEL) or by_step[Step.SINGLE]
    saved_model = version.model.format == "savedmodel"
    weights = f"{graph.version_dir}/model.savedmodel" if saved_model else graph.version_dir
    layout = [{"from": ".", "to": weights}]
    for name, part in version.parts.items():
        step = _STEPS[name]
        if step in by_step:
            layout.append({"from": part.path, "to": by_step[step].version_dir})
        elif saved_model and part.config_hash:  # beside the graph's folder, not in it
            layout.append({"from": part.path, "to": f"{graph.version_dir}/{part.path}"})
    return layout


def _configs(version: InferenceVersion, models: list[RepositoryModel]) -> list[dict[str, str]]:
    """Return which key of the ConfigMap becomes which file below ``/models``."""
    configs = [{"key": model.config_key, "to": f"{model.name}/config.pbtxt"} for model in models]
    for model in models:
        if model.step is Step.ENSEMBLE:  # Triton wants the version directory of an ensemble, though nothing is in it
            configs.append({"key": ENSEMBLE_KEEP_KEY, "to": f"{model.version_dir}/.keep"})
        configs += [
            {"key": file.key, "to": f"{model.name}/warmup/{file.name}"} for file in warmup_files(version, model)
        ]
    return configs
