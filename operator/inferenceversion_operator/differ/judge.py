"""What two answers to the same request mean; pure, so a large one may be judged in another thread."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from inferenceversion_operator.differ.compare import Difference, Kind, compare
from inferenceversion_operator.differ.plan import Plan
from inferenceversion_operator.differ.wire import grpc_v2, http_v2
from inferenceversion_operator.differ.wire.tensors import UndecodableError, Values


class Protocol(StrEnum):
    HTTP = "http"
    GRPC = "grpc"


class Failed(StrEnum):
    """Which side gave no answer that can be compared."""

    CANDIDATE = "candidate"
    STABLE = "stable"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Mirrored:
    """A copy of a live request.

    Attributes:
        path: of HTTP, as it came; of gRPC the method.
        headers: what of the request is sent on.
        header_length: how much of an HTTP body is JSON, if it says so.
        digest: sha256 of the body, in hex.
    """

    protocol: Protocol
    path: str
    headers: Mapping[str, str]
    body: bytes
    header_length: int | None
    digest: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What one version said.

    Attributes:
        body: of an answer with success; else what there is of a message.
        header_length: how much of an HTTP body is JSON, if it says so.
        problem: why it is no success, for people: a status, a timeout; None where it is one.
        seconds: until the answer was whole, or until it was clear that there will be none.
    """

    body: bytes = b""
    header_length: int | None = None
    problem: str | None = None
    seconds: float = 0.0


Outputs = Mapping[str, Values]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What came out of one comparison.

    Attributes:
        compared: stable answered, so the candidate's answer is evidence. Two refusals are none: what is refused for
            a reason of our own would otherwise look like a candidate that does everything right.
        problems: what each side's failure was, by ``stable`` and ``candidate``.
        stable, candidate: the outputs where both answered.
    """

    compared: bool
    failed: Failed | None = None
    differences: tuple[Difference, ...] = ()
    problems: Mapping[str, str] = field(default_factory=dict)
    stable: Outputs = field(default_factory=dict)
    candidate: Outputs = field(default_factory=dict)

    @property
    def mismatched(self) -> bool:
        return bool(self.differences)


def judge(plan: Plan, protocol: Protocol, stable: Answer, candidate: Answer) -> Judgement:
    """Compare what the two versions said to one request."""
    ours, our_problem = _decoded(protocol, stable)
    theirs, their_problem = _decoded(protocol, candidate)
    both = {"stable": our_problem, "candidate": their_problem}
    problems = {side: problem for side, problem in both.items() if problem}
    if our_problem:
        return Judgement(compared=False, failed=Failed.BOTH if their_problem else Failed.STABLE, problems=problems)
    if their_problem:
        failure = Difference("", Kind.FAILED, their_problem)
        return Judgement(compared=True, failed=Failed.CANDIDATE, differences=(failure,), problems=problems)
    differences = compare(plan.outputs, plan.tolerance, ours, theirs)
    return Judgement(compared=True, differences=differences, stable=ours, candidate=theirs)


def input_bytes(request: Mirrored) -> int:
    """Return how many bytes the inputs of a request have."""
    if request.protocol is Protocol.GRPC:
        return grpc_v2.input_bytes(request.body)
    return http_v2.input_bytes(request.body, request.header_length)


def _decoded(protocol: Protocol, answer: Answer) -> tuple[Outputs, str | None]:
    """Return the outputs, or why there are none."""
    if answer.problem:
        return {}, answer.problem
    try:
        if protocol is Protocol.GRPC:
            return grpc_v2.decode_outputs(answer.body), None
        return http_v2.decode_outputs(answer.body, answer.header_length), None
    except UndecodableError as error:
        return {}, f"not an answer of the protocol: {error}"
