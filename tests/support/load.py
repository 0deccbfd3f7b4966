"""Load through the Gateway: so many requests a second whatever comes back, and a record of every answer."""

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import aiohttp
import grpc
from tritonclient.grpc import service_pb2, service_pb2_grpc

from demo.headlines import HEADLINES

MODEL = "news_sentiment"
HEADER_VERSION = "x-inference-version"
HEADER_DIGEST = "x-inference-digest"

# A grpc.Call and a grpc.Future in one: the library has no name for it.
_Pending = Any


@dataclass(frozen=True, slots=True)
class Answer:
    """One request and what came back; ``at`` is when it was sent, on the clock of ``time.monotonic``."""

    at: float
    took: float
    status: int  # of HTTP; of gRPC; -1 where no answer came
    version: str = ""
    digest: str = ""
    label: str = ""
    problem: str = ""

    @property
    def ended(self) -> float:
        return self.at + self.took


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes: the Gateway's address, and the hostname that its route knows."""

    address: str
    host: str
    model: str = MODEL
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def url(self) -> str:
        return f"http://{self.address}/v2/models/{self.model}/infer"

    def http_headers(self) -> dict[str, str]:
        return {"Host": self.host, **dict(self.headers)}


def infer_body(text: str) -> dict[str, object]:
    """Return a request of the KServe v2 protocol for one headline."""
    return {"inputs": [{"name": "TEXT", "datatype": "BYTES", "shape": [1, 1], "data": [text]}]}


class Load:
    """Sends requests in a thread of its own while the test goes on; use it in a ``with``.

    Args:
        rate: requests a second; open loop, so a slow answer delays no other request.
        keep_alive: reuse connections as a client library does; else a new one for each request.
    """

    def __init__(self, target: Target, *, rate: float = 20, keep_alive: bool = True, timeout: float = 15) -> None:
        self._target = target
        self._rate = rate
        self._keep_alive = keep_alive
        self._timeout = timeout
        self._answers: list[Answer] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="load", daemon=True)
        self._broken: BaseException | None = None

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join(self._timeout + 15)
        if self._broken and error is None:
            raise self._broken

    @property
    def answers(self) -> list[Answer]:
        """Return what came back so far, in the order in which it was sent."""
        return sorted(self._answers, key=lambda answer: answer.at)

    def since(self, moment: float) -> list[Answer]:
        return [answer for answer in self.answers if answer.at >= moment]

    def last(self, count: int) -> list[Answer]:
        return self.answers[-count:]

    def _run(self) -> None:
        try:
            asyncio.run(self._send_all())
        except BaseException as error:  # noqa: BLE001 - it is raised again in the test's thread
            self._broken = error

    async def _send_all(self) -> None:
        connector = aiohttp.TCPConnector(limit=0, force_close=not self._keep_alive)
        timeout = aiohttp.ClientTimeout(total=self._timeout)
        async with aiohttp.ClientSession(connector=connector, timeout=timeout) as session, asyncio.TaskGroup() as group:
            began = time.monotonic()
            number = 0
            while not self._stop.is_set():
                group.create_task(self._send(session, HEADLINES[number % len(HEADLINES)]))
                number += 1
                await asyncio.sleep(max(0.0, began + number / self._rate - time.monotonic()))

    async def _send(self, session: aiohttp.ClientSession, text: str) -> None:
        self._answers.append(await ask_async(session, self._target, text))


async def ask_async(session: aiohttp.ClientSession, target: Target, text: str) -> Answer:
    """Send one headline and record the answer, whatever it is."""
    at = time.monotonic()
    try:
        async with session.post(target.url, json=infer_body(text), headers=target.http_headers()) as response:
            body = await response.read()
            label, problem = _read(response.status, body)
            return Answer(
                at=at,
                took=time.monotonic() - at,
                status=response.status,
                version=response.headers.get(HEADER_VERSION, ""),
                digest=response.headers.get(HEADER_DIGEST, ""),
                label=label,
                problem=problem,
            )
    except (aiohttp.ClientError, TimeoutError, OSError) as error:
        return Answer(at=at, took=time.monotonic() - at, status=-1, problem=repr(error))


def ask(target: Target, text: str = HEADLINES[0], *, timeout: float = 15) -> Answer:
    """Send one headline on a connection of its own."""

    async def once() -> Answer:
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=timeout)) as session:
            return await ask_async(session, target, text)

    return asyncio.run(once())


def _read(status: int, body: bytes) -> tuple[str, str]:
    """Return the label, and what is wrong where it isn't an answer of the model."""
    if status != 200:
        return "", body[:300].decode(errors="replace")
    try:
        outputs = {output["name"]: output["data"] for output in json.loads(body)["outputs"]}
        return str(outputs["LABEL"][0]), ""
    except (KeyError, ValueError, IndexError) as error:
        return "", f"not an answer of the model: {error!r}: {body[:200]!r}"


class GrpcLoad:
    """The same over gRPC: one channel, as gRPC clients have, and a thread of its own."""

    def __init__(self, target: Target, *, rate: float = 20, timeout: float = 15) -> None:
        self._target = target
        self._rate = rate
        self._timeout = timeout
        self._answers: list[Answer] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="grpc-load", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(self._timeout + 15)

    @property
    def answers(self) -> list[Answer]:
        return sorted(self._answers, key=lambda answer: answer.at)

    def since(self, moment: float) -> list[Answer]:
        return [answer for answer in self.answers if answer.at >= moment]

    def _run(self) -> None:
        with open_channel(self._target) as channel:
            began = time.monotonic()
            number = 0
            waiting: list[_Pending] = []
            while not self._stop.is_set():
                waiting.append(self._send(channel, HEADLINES[number % len(HEADLINES)]))
                number += 1
                self._stop.wait(max(0.0, began + number / self._rate - time.monotonic()))
            for call in waiting:
                call.exception()  # until each has ended

    def _send(self, channel: grpc.Channel, text: str) -> _Pending:
        at = time.monotonic()
        call = _infer(channel).future(_grpc_request(self._target.model, text), timeout=self._timeout)
        call.add_done_callback(lambda _: self._answers.append(_grpc_answer(at, call)))
        return call


def open_channel(target: Target) -> grpc.Channel:
    """Return a channel to the Gateway under the endpoint's own gRPC hostname."""
    return grpc.insecure_channel(target.address, options=[("grpc.default_authority", f"grpc.{target.host}")])


def ask_grpc(target: Target, text: str = HEADLINES[0], *, timeout: float = 15) -> Answer:
    """Send one headline over gRPC, on a channel of its own."""
    at = time.monotonic()
    with open_channel(target) as channel:
        call = _infer(channel).future(_grpc_request(target.model, text), timeout=timeout, metadata=target.headers)
        call.exception()
        return _grpc_answer(at, call)


def _infer(channel: grpc.Channel) -> "grpc.UnaryUnaryMultiCallable[Any, Any]":
    method: grpc.UnaryUnaryMultiCallable[Any, Any] = service_pb2_grpc.GRPCInferenceServiceStub(channel).ModelInfer
    return method


def _grpc_request(model: str, text: str) -> object:
    request = service_pb2.ModelInferRequest(model_name=model)
    tensor = request.inputs.add(name="TEXT", datatype="BYTES", shape=[1, 1])
    tensor.contents.bytes_contents.append(text.encode())
    return request


def _grpc_answer(at: float, call: _Pending) -> Answer:
    took = time.monotonic() - at
    code = call.code()
    headers = dict(call.initial_metadata() or ())
    label, problem = "", ""
    if code is grpc.StatusCode.OK:
        outputs = [output.name for output in call.result().outputs]
        raw = call.result().raw_output_contents[outputs.index("LABEL")]
        label = raw[4:].decode()  # a string of Triton: four bytes of length, then the bytes
    else:
        problem = f"{code}: {call.details()} {call.debug_error_string()} {dict(call.trailing_metadata() or ())}"
    version, digest = str(headers.get(HEADER_VERSION, "")), str(headers.get(HEADER_DIGEST, ""))
    return Answer(at, took, int(code.value[0]), version, digest, label, problem)


def failed(answers: Iterable[Answer], *, good: int = 200) -> list[Answer]:
    """Return the answers that a client would call an error."""
    return [answer for answer in answers if answer.status != good or answer.problem]


def versions_of(answers: Iterable[Answer]) -> Counter[str]:
    return Counter(answer.version for answer in answers)


def digest_of(answers: Iterable[Answer], version: str) -> set[str]:
    return {answer.digest for answer in answers if answer.version == version}


def settled_after(answers: Iterable[Answer], moment: float, is_new: Callable[[Answer], bool]) -> float:
    """Return how many seconds after ``moment`` the last request was sent that still got an answer of before."""
    late = [answer.at for answer in answers if answer.at >= moment and not is_new(answer)]
    return max(late) - moment if late else 0.0


def percentile(answers: Iterable[Answer], share: float) -> float:
    """Return the latency below which this share of the answers lies, in seconds."""
    times = sorted(answer.took for answer in answers)
    return times[min(len(times) - 1, int(len(times) * share))] if times else 0.0
