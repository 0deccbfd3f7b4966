"""The immutable ConfigMap of a version: Triton's config, the guard's bootstrap, the fetch plan."""

import hashlib
import json

from inferenceversion_operator.api.names import config_map_name, version_name
from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.objects.common import Object, version_metadata
from inferenceversion_operator.core.objects.fetch_plan import make_fetch_plan
from inferenceversion_operator.core.objects.guard import guard_yaml
from inferenceversion_operator.core.objects.triton_config import make_triton_configs


def make_config_map(version: InferenceVersion) -> Object:
    """Return the ConfigMap, named by its content: a pod always starts with the configuration it was made for."""
    data = {
        "envoy.yaml": guard_yaml(version),
        "fetch.json": json.dumps(make_fetch_plan(version), indent=1, sort_keys=True) + "\n",
        **make_triton_configs(version),
    }
    content = hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": version_metadata(version, config_map_name(version_name(version.name), content)),
        "immutable": True,
        "data": data,
    }
