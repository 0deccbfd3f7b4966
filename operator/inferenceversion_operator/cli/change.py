"""What commands that change the spec of an endpoint share: not against Git."""

from collections.abc import Mapping
from typing import Any

from rich.text import Text

from inferenceversion_operator.cli.errors import UserError
from inferenceversion_operator.cli.output import say, to_yaml
from inferenceversion_operator.cli.views.owner import change_in_git, find_owner

Object = Mapping[str, Any]


def refuse_if_in_git(endpoint: Object, spec: Mapping[str, Any], *, force: bool) -> None:
    """Keep hands off what Argo CD or Flux owns: they would undo it. The change to make in Git goes to stdout.

    Raises:
        UserError: Git owns the endpoint and nobody insists.
    """
    owner = find_owner(endpoint)
    if owner is None:
        return
    name = endpoint["metadata"]["name"]
    if force:
        say(f"note: {owner} owns endpoint {name} and will undo this at its next sync, unless Git says the same")
        return
    change = change_in_git(endpoint, spec)
    print(to_yaml(change.manifest), end="")
    what = "commit what is printed above" if change.whole else "set in Git what is printed above"
    unset = ", ".join(f"spec.{key}" for key, value in sorted(spec.items()) if value is None)
    remove = f" and remove {unset}" if unset and not change.whole else ""
    raise UserError(
        f"{owner} owns endpoint {name}: a change here would be undone. {what[0].upper()}{what[1:]}{remove}, "
        "or insist with --force"
    )


def as_text(lines: list[str]) -> Text:
    """Return lines as what is printed."""
    return Text("\n".join(lines))
