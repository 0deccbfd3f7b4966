"""Writes docs/reference/cli.md from the commands themselves: ``python docs/cli_reference.py``."""

# ruff: noqa: INP001 - a script
import inspect
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, get_args, get_type_hints

from typer.models import ArgumentInfo, OptionInfo

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reference" / "cli.md"
sys.path.insert(0, str(ROOT / "operator"))

from inferenceversion_operator.cli.app import OFFLINE, ON_CLUSTER  # noqa: E402 - found by the line above

HEAD = """\
<!-- Written by docs/cli_reference.py from the commands themselves: change those, then run it. -->
# kubectl iv

One wheel, `inferenceversion-operator[cli]`, installs `kubectl-iv`; kubectl finds it in the PATH as `kubectl iv`.
`kubectl iv --install-completion` sets up completion of `kubectl-iv` for your shell; kubectl itself asks
`kubectl_complete-iv`.

- stdout is the answer, stderr is talk. `-o json` and `-o yaml` print it whole, named as Kubernetes names things.
- Colour is for terminals: none where the output is piped, or `NO_COLOR` is set.
- `FILE` is a file, a folder (read to the bottom) or `-`; a file may hold several documents. Objects of other kinds are
  skipped with a note.

| exit code | |
|---|---|
| 0 | yes |
| 1 | the answer is no: problems found, digests differ, not found, refused, not in time |
| 2 | the command line is wrong, or a file that it names can't be read |
| 3 | the cluster can't be asked: unreachable, not allowed, no CRDs, a bad kubeconfig |
| 130 | Ctrl-C |
"""


def page() -> str:
    """Return the page."""
    parts = [HEAD]
    for title, modules in (("On a cluster", ON_CLUSTER), ("Files, folders or stdin", OFFLINE)):
        parts.append(f"## {title}\n")
        parts += ["\n".join(_command(name, module.command, module.EXAMPLES)) for name, module in modules.items()]
    return "\n".join(parts)


def _command(name: str, command: Callable[..., None], examples: tuple[str, ...]) -> Iterator[str]:
    params = list(_params(command))
    words = " ".join(_usage(param) for param in params if isinstance(param.info, ArgumentInfo))
    yield f"### {name}\n"
    yield f"`kubectl iv {name}{' ' if words else ''}{words} [OPTIONS]`\n"
    yield f"{inspect.cleandoc(command.__doc__ or '')}\n"
    yield "| argument or option | |"
    yield "|---|---|"
    for param in params:
        yield f"| {_spelling(param)} | {_meaning(param)} |"
    yield "\n```\n" + "\n".join(examples) + "\n```\n"


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a command's function, as it is declared there."""

    name: str
    type: Any
    info: Any  # OptionInfo or ArgumentInfo
    default: Any  # inspect.Parameter.empty: required

    @property
    def required(self) -> bool:
        return self.default is inspect.Parameter.empty


def _params(command: Callable[..., None]) -> Iterator[Param]:
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        kind, info = get_args(hints[name])
        yield Param(name, kind, info, parameter.default)


def _usage(param: Param) -> str:
    word = param.info.metavar or param.name.upper()
    many = "..." if "list" in str(param.type) else ""
    return f"{word}{many}" if param.required else f"[{word}]{many}"


def _spelling(param: Param) -> str:
    if isinstance(param.info, ArgumentInfo):
        return f"`{param.info.metavar or param.name.upper()}`"
    names = [*(param.info.param_decls or ()), param.info.default if isinstance(param.info.default, str) else None]
    spelled = [name for name in names if name] or [f"--{param.name.replace('_', '-')}"]
    value = param.info.metavar or ""
    if isinstance(param.type, type) and issubclass(param.type, StrEnum):
        value = "\\|".join(param.type)
    return " ".join((", ".join(f"`{name}`" for name in sorted(spelled, key=len)), value)).rstrip()


def _meaning(param: Param) -> str:
    text = param.info.help or ""
    if param.required:
        text += " Required."
    elif param.default not in (None, False) and isinstance(param.info, OptionInfo):
        text += f" Default: {'yes' if param.default is True else param.default}."
    if param.info.envvar:
        text += f" Variable: {param.info.envvar}."
    return text


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page())
