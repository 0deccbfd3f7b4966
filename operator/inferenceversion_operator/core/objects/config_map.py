"""The immutable ConfigMap of a version: Triton's config, the guard's bootstrap, the fetch plan."""

import hashlib
import json

from inferenceversion_operator.api.names import config_map_name, version_name
from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.objects.common import Object, version_metadata
from inferenceversion_operator.core.objects.fetch_plan import FETCH_KEY, make_fetch_plan_json
from inferenceversion_operator.core.objects.guard import GUARD_CONFIG_KEY, make_guard_yaml
from inferenceversion_operator.core.objects.triton_config import make_triton_configs

# A snapshot is immutable, so what was rendered for it stays right; rendering costs more than the rest of a decision.
_RENDERED_LIMIT = 10_000
_rendered: dict[tuple[str, ...], tuple[dict[str, str], str]] = {}


def make_config_map(version: InferenceVersion) -> Object:
    """Return the ConfigMap, named by its content: a pod always starts with the configuration it was made for."""
    # From files a version has no uid, and two may have one digest: all that is named in the text tells them apart.
    names = (version.namespace, version.name, version.endpoint, version.version)
    key = (version.uid, version.digest, version.model.source, *names)
    if key not in _rendered:
        if len(_rendered) >= _RENDERED_LIMIT:
            _rendered.pop(next(iter(_rendered)))
        _rendered[key] = _render(version)
    data, content = _rendered[key]
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": version_metadata(version, config_map_name(version_name(version.name), content)),
        "immutable": True,
        "data": dict(data),
    }


def _render(version: InferenceVersion) -> tuple[dict[str, str], str]:
    data = {
        GUARD_CONFIG_KEY: make_guard_yaml(version),
        FETCH_KEY: make_fetch_plan_json(version),
        **make_triton_configs(version),
    }
    return data, hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
