"""What a person asks of a release that is under way: one line in an annotation of the InferenceEndpoint.

``promote 2.4.1``, ``promote 2.4.1 step=1``, ``promote 2.4.1 skip-steps``, ``abort 2.4.1``; each may say ``by=`` and
``at=``. It is acted on once: the operator keeps the line that it has seen in ``status.observedAction``.
"""

import re
from dataclasses import dataclass
from enum import StrEnum

from inferenceversion_operator.api.semver import is_semver

_LIMIT = 512
_WHO = re.compile(r"[^\s=]{1,253}")
_WHO_LIMIT = 253  # of the CRD: a longer one would make the API server refuse the status


class Verb(StrEnum):
    PROMOTE = "promote"
    ABORT = "abort"


@dataclass(frozen=True, slots=True)
class Action:
    """A wish about the candidate.

    Attributes:
        version: of the candidate; about another version it is about nothing.
        step: canary step that the wish was made at; at another one it is about nothing. None: any.
        skip_steps: promote at once, whatever the gates say.
        by: who asked, as they say.
        at: when, RFC 3339; makes two equal wishes two.
    """

    verb: Verb
    version: str
    step: int | None = None
    skip_steps: bool = False
    by: str | None = None
    at: str | None = None


def parse_action(text: str) -> Action | None:
    """Return the wish; None where the line is none that is understood."""
    words = text.split() if len(text) <= _LIMIT else []
    if len(words) < 2 or words[0] not in tuple(Verb) or not is_semver(words[1]):
        return None
    options: dict[str, str] = {}
    for word in words[2:]:
        name, _, value = word.partition("=")
        if name in options:
            return None
        options[name] = value
    step = options.pop("step", None)
    skip = options.pop("skip-steps", None)
    by, at = options.pop("by", None), options.pop("at", None)
    known = not options and skip in (None, "") and (step is None or (step.isascii() and step.isdigit()))
    if not known or (words[0] == Verb.ABORT and (skip is not None or step is not None)):
        return None
    return Action(
        Verb(words[0]), words[1], None if step is None else int(step[:9]), skip is not None, by and by[:_WHO_LIMIT], at
    )


def format_action(action: Action) -> str:
    """Return the line; what somebody calls themselves is reduced to what one word can hold."""
    words = [action.verb.value, action.version]
    words += [f"step={action.step}"] if action.step is not None else []
    words += ["skip-steps"] if action.skip_steps else []
    by = "".join(_WHO.findall(action.by or ""))[:_WHO_LIMIT]
    words += [f"by={by}"] if by else []
    words += [f"at={action.at}"] if action.at else []
    return " ".join(words)
