"""The CRD files as data: in the wheel beside the package, in a checkout at the top level."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

# CSafeLoader is 10 times as fast, where PyYAML was built with it; both are safe.
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def _folder() -> Path:
    package = Path(__file__).parent.parent
    packaged = package / "crds"
    return packaged if packaged.is_dir() else package.parent.parent / "crds"


@cache
def definitions() -> Mapping[str, Mapping[str, Any]]:
    """Return the CustomResourceDefinitions by kind."""
    crds = [yaml.load(path.read_text("utf-8"), _LOADER) for path in sorted(_folder().glob("*.yaml"))]  # noqa: S506
    return {crd["spec"]["names"]["kind"]: crd for crd in crds}


@cache
def structural_schema(kind: str) -> Mapping[str, Any]:
    """Return the schema of the served version of this kind.

    Raises:
        KeyError: there is no such kind.
    """
    (version,) = definitions()[kind]["spec"]["versions"]
    schema: Mapping[str, Any] = version["schema"]["openAPIV3Schema"]
    return schema
