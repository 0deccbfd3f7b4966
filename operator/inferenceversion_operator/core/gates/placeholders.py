"""What a user's PromQL may leave open: ``{{ name }}`` is the candidate's, ``{{ window }}`` the time of the step."""

import re
from collections.abc import Mapping

from inferenceversion_operator.api.names import version_name
from inferenceversion_operator.core.gates.promql import Windows
from inferenceversion_operator.core.gates.scope import Scope

NAMES = ("namespace", "endpoint", "name", "version", "stableName", "stableVersion", "window")

# PromQL itself has no two braces in a row but in strings, and a selector around a placeholder is a third one.
_PLACEHOLDER = re.compile(r"\{\{[ \t]*([^{}\s]*)[ \t]*\}\}")


def unknown_in(promql: str) -> tuple[str, ...]:
    """Return the placeholders that there are not, in the order of the text."""
    found = dict.fromkeys(_PLACEHOLDER.findall(promql))
    return tuple(name for name in found if name not in NAMES)


def filled(promql: str, scope: Scope, windows: Windows) -> str:
    """Return the query with every known placeholder replaced.

    Values stand in strings of PromQL, so what would end one is escaped; names and versions hold no such thing.
    """
    values = _values(scope, windows)
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), promql)


def _values(scope: Scope, windows: Windows) -> Mapping[str, str]:
    texts = {
        "namespace": scope.candidate.namespace,
        "endpoint": scope.candidate.endpoint,
        "name": version_name(scope.candidate.name),
        "version": scope.candidate.version,
        "stableName": version_name(scope.stable.name),
        "stableVersion": scope.stable.version,
        "window": f"{windows.step.seconds}s",
    }
    return {name: text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ") for name, text in texts.items()}
