"""One run from plan to exit code, in the order in which things happen."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferenceversion_operator.fetch.collect import collect
from inferenceversion_operator.fetch.errors import Reason, classify, without_secrets
from inferenceversion_operator.fetch.limits import Budget, Limits
from inferenceversion_operator.fetch.net.resume import Retry
from inferenceversion_operator.fetch.place import arrange, move_files, write_configs
from inferenceversion_operator.fetch.plan import load_plan
from inferenceversion_operator.fetch.progress import Progress, human
from inferenceversion_operator.fetch.sources import Context
from inferenceversion_operator.fetch.tree import Tree
from inferenceversion_operator.fetch.verify import verify
from inferenceversion_operator.fetch.workspace import Workspace

EXIT_OK = 0
EXIT_PERMANENT = 1  # the user has to act
EXIT_TRANSIENT = 75  # EX_TEMPFAIL: trying again may help
_MESSAGE_CHARACTERS = 1500  # the kubelet keeps 4096 bytes of a termination message

SECRET_NAMES = (
    "HTTP_BEARER_TOKEN",
    "HTTP_PASSWORD",
    "HF_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "GOOGLE_SERVICE_ACCOUNT_KEY",
)


@dataclass(frozen=True, slots=True)
class Options:
    plan: Path
    models: Path
    work: Path
    configs: Path
    termination_log: Path
    limits: Limits


def run(options: Options, env: Mapping[str, str]) -> int:
    """Fetch, verify, lay out; write the termination message; return the exit code."""
    progress = Progress(env[name] for name in SECRET_NAMES if env.get(name))
    try:
        message = fetch(options, env, progress)
    except Exception as error:  # noqa: BLE001 - classify knows them all
        failure = classify(error)
        hashes = {"expected": failure.expected, "got": failure.got} if failure.expected else {}
        _tell(options.termination_log, progress, failure.reason, failure.message, hashes)
        return EXIT_TRANSIENT if failure.transient else EXIT_PERMANENT
    _tell(options.termination_log, progress, Reason.VERIFIED, message, {})
    return EXIT_OK


def fetch(options: Options, env: Mapping[str, str], progress: Progress) -> str:
    """Do it; return the sentence that tells what was verified."""
    plan = load_plan(options.plan)
    workspace = Workspace(options.models, options.work)
    try:
        budget = Budget(options.limits)
        context = Context(env, budget, Retry(options.limits.stall_seconds, progress))
        tree = Tree(workspace.tree, budget)
        single = collect(plan, context, tree, workspace.scratch, progress)
        verify(plan, tree.files, single=single)
        move_files(arrange(plan, tree.files), workspace.tree, workspace.ready)
        write_configs(plan, options.configs, workspace.ready, progress)
        workspace.publish()
    finally:
        workspace.remove()
    count = len(tree.files)
    return f"{count} file{'s' * (count != 1)}, {human(budget.written)} from {without_secrets(plan.source)}"


def _tell(log: Path, progress: Progress, reason: Reason, message: str, more: Mapping[str, Any]) -> None:
    text = progress.clean(message)[:_MESSAGE_CHARACTERS]
    line = json.dumps({"reason": reason, "message": text, **more}) + "\n"
    progress.say(f"{reason}: {text}")
    try:
        # Not truncated by open(..., "w") alone where it is a mount; one write, so that no half line is ever read.
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        with open(descriptor, "wb", buffering=0) as file:  # noqa: PTH123 - a descriptor
            file.write(line.encode())
    except OSError as error:
        progress.say(f"the termination message can't be written ({type(error).__name__})")
