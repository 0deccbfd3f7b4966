"""`python -m bench.differ`: requests a second that one core of the differ compares, beside a trivial upstream.

Three processes: this one sends copies, one stands in for both versions, one is the differ. The number is comparisons
for each second of CPU that the differ used, so it says the same on a busy machine; the wall clock's is printed too.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import grpc.aio

from dev.paths import ROOT
from tests.support.ports import free_ports
from tests.support.wait import wait_until

_PATH = "/v2/models/news_sentiment/infer"
_METHOD = "/inference.GRPCInferenceService/ModelInfer"
_TICKS = os.sysconf("SC_CLK_TCK")
_TEXT = "Lovely festival brings joy and hope to children"
_OUTPUTS = [
    {"name": "LABEL", "datatype": "BYTES", "shape": [1]},
    {"name": "SCORES", "datatype": "FP32", "shape": [3]},
]


def http_request(number: int) -> bytes:
    """Return one copy as it is on the wire; its id makes its hash another than that of the one before."""
    body = json.dumps(
        {"id": f"{number:08}", "inputs": [{"name": "TEXT", "datatype": "BYTES", "shape": [1, 1], "data": [_TEXT]}]}
    ).encode()
    head = f"POST {_PATH} HTTP/1.1\r\nhost: differ\r\ncontent-type: application/json\r\n"
    return f"{head}content-length: {len(body)}\r\n\r\n".encode() + body


def http_answer() -> bytes:
    """Return the upstream's answer as it is on the wire: what Triton says to one headline."""
    outputs = [
        {"name": "LABEL", "datatype": "BYTES", "shape": [1, 1], "data": ["positive"]},
        {"name": "SCORES", "datatype": "FP32", "shape": [1, 3], "data": [0.0123456789, 0.1234567, 0.864]},
    ]
    body = json.dumps({"model_name": "news_sentiment", "model_version": "1", "outputs": outputs}).encode()
    return f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


def _field(number: int, content: bytes) -> bytes:
    """Return a field of a protobuf message: a text, bytes or a message of less than 128 bytes."""
    return bytes([number << 3 | 2, len(content)]) + content


def grpc_answer() -> bytes:
    """Return the same answer as a ModelInferResponse."""
    label = _field(1, b"LABEL") + _field(2, b"BYTES") + _field(3, bytes([1, 1]))
    scores = _field(1, b"SCORES") + _field(2, b"FP32") + _field(3, bytes([1, 3]))
    raw = _field(6, struct.pack("<I", 8) + b"positive") + _field(6, struct.pack("<3f", 0.01, 0.12, 0.87))
    return _field(5, label) + _field(5, scores) + raw


class _Upstream(asyncio.Protocol):
    """Answers every request with the same bytes; requests come whole, and each with the same end."""

    answer = http_answer()
    end = _TEXT.encode()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._buffer = b""

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        count = self._buffer.count(self.end)
        if count:
            self._buffer = b""
            assert isinstance(self._transport, asyncio.WriteTransport)
            self._transport.write(self.answer * count)


class _Methods(grpc.GenericRpcHandler):
    def service(self, _: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[bytes, bytes]":
        return grpc.unary_unary_rpc_method_handler(self._infer)

    async def _infer(self, _message: bytes, _context: object) -> bytes:
        return grpc_answer()


async def upstream(http: int, grpc_port: int) -> None:
    """Stand in for both versions until the process is ended."""
    server = await asyncio.get_running_loop().create_server(_Upstream, "127.0.0.1", http, backlog=256)
    methods = grpc.aio.server(handlers=[_Methods()])
    methods.add_insecure_port(f"127.0.0.1:{grpc_port}")
    await methods.start()
    await server.serve_forever()


class _Sender(asyncio.Protocol):
    """Sends a copy as soon as the one before was answered, until so many are sent."""

    def __init__(self, count: int, done: asyncio.Event) -> None:
        self._left = count
        self._done = done
        self._requests = itertools.cycle([http_request(number) for number in range(100)])

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._send()

    def data_received(self, data: bytes) -> None:
        if data.endswith(b"\r\n\r\n"):
            self._send()

    def _send(self) -> None:
        if self._left == 0:
            self._transport.close()
            self._done.set()
            return
        self._left -= 1
        assert isinstance(self._transport, asyncio.WriteTransport)
        self._transport.write(next(self._requests))


async def send_http(port: int, count: int, connections: int) -> None:
    loop = asyncio.get_running_loop()
    waiting = [asyncio.Event() for _ in range(connections)]
    for done in waiting:
        await loop.create_connection(partial(_Sender, count // connections, done), "127.0.0.1", port)
    for done in waiting:
        await done.wait()


async def send_grpc(port: int, count: int, connections: int) -> None:
    text = _field(7, struct.pack("<I", len(_TEXT)) + _TEXT.encode())
    requests = itertools.cycle([_field(1, b"news") + _field(3, b"%08d" % number) + text for number in range(100)])
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}") as channel:
        call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(_METHOD)

        async def some() -> None:
            for _ in range(count // connections):
                await call(next(requests))

        await asyncio.gather(*(some() for _ in range(connections)))


class Differ:
    """The differ as a process of its own."""

    def __init__(self, process: subprocess.Popen[bytes], http: int, grpc_port: int, probes: int) -> None:
        self._process = process
        self.http = http
        self.grpc = grpc_port
        self._probes = probes

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    def count(self, name: str) -> int:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._probes}/metrics", timeout=10) as answer:
            text = answer.read().decode()
        found = re.findall(rf"^inference_shadow_{name}_total\{{.*\}} (\S+)$", text, re.MULTILINE)
        return int(sum(map(float, found)))

    def ready(self) -> bool:
        with contextlib.suppress(OSError):
            return self.count("received") == 0
        return False

    def resident_mib(self) -> float:
        status = Path(f"/proc/{self._process.pid}/status").read_text()
        return int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024


@contextlib.contextmanager
def running(folder: Path, self_share: float) -> Iterator[Differ]:
    """Start upstream and differ; both are ended at the end of the block."""
    up_http, up_grpc, http, grpc_port, probes = free_ports(5)
    side = {"host": "127.0.0.1", "httpPort": up_http, "grpcPort": up_grpc}
    plan = {
        "namespace": "bench",
        "endpoint": "bench",
        "stable": {"version": "1.0.0", "name": "bench-1", **side},
        "candidate": {"version": "1.1.0", "name": "bench-2", **side},
        "outputs": _OUTPUTS,
        "tolerance": {"absolute": 0, "relative": 0},
        "limits": {
            "concurrency": 16,
            "queue": 256,
            "memoryBytes": 64 << 20,
            "requestBytes": 2 << 20,
            "responseBytes": 8 << 20,
            "timeoutSeconds": 5,
        },
        "selfShare": self_share,
        "sampleSize": 20,
    }
    path = folder / "differ.json"
    path.write_text(json.dumps(plan))
    ports = [f"--http-port={http}", f"--grpc-port={grpc_port}", f"--probe-port={probes}"]
    module = [sys.executable, "-m", "inferenceversion_operator.differ", f"--plan={path}", "--host=127.0.0.1", *ports]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "operator"), "IVO_LOG_LEVEL": "warning"}
    stand_in = [sys.executable, "-m", "bench.differ", f"--upstream={up_http},{up_grpc}"]
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(_started(command, environment)) for command in (stand_in, module)]
        differ = Differ(processes[1], http, grpc_port, probes)
        wait_until("waiting until the differ listens", differ.ready, within=30)
        yield differ


@contextlib.contextmanager
def _started(command: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(command, env=environment, cwd=ROOT, stdout=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()


def measure(differ: Differ, protocol: str, count: int, connections: int) -> dict[str, float]:
    """Send copies, wait until all were dealt with, and return what it took."""
    send = send_http if protocol == "http" else send_grpc
    port = differ.http if protocol == "http" else differ.grpc
    asyncio.run(send(port, count // 10, connections))  # connections are open, code is warm
    wait_until("waiting until the first are compared", lambda: _settled(differ), within=60)
    before, compared, dropped = differ.cpu_seconds(), differ.count("compared"), differ.count("dropped")
    began = time.perf_counter()
    asyncio.run(send(port, count, connections))
    took = time.perf_counter() - began
    wait_until("waiting until all are compared", lambda: _settled(differ), within=60, every=0.05)
    cpu = differ.cpu_seconds() - before
    done = differ.count("compared") - compared
    return {
        "sent": count,
        "compared": done,
        "dropped": differ.count("dropped") - dropped,
        "asked_again": differ.count("noise_compared"),
        "mismatched": differ.count("mismatched"),
        "failed": differ.count("failed"),
        "compared_per_cpu_second": done / cpu,
        "copies_per_second": count / took,
        "resident_mib": differ.resident_mib(),
    }


def _settled(differ: Differ) -> bool:
    """Say whether every copy that arrived was dealt with."""
    return differ.count("received") == sum(differ.count(name) for name in ("compared", "dropped"))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.differ", description=__doc__)
    parser.add_argument("--count", type=int, default=5000, help="copies to send (default: %(default)s)")
    parser.add_argument("--connections", type=int, default=8, help="from the sender (default: %(default)s)")
    parser.add_argument("--self-share", type=float, default=0.2, help="of the plan (default: %(default)s)")
    parser.add_argument("--upstream", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.upstream:
        http, grpc_port = map(int, options.upstream.split(","))
        asyncio.run(upstream(http, grpc_port))
        return 0
    for protocol in ("http", "grpc"):
        with (
            tempfile.TemporaryDirectory(prefix="bench-") as folder,
            running(Path(folder), options.self_share) as differ,
        ):
            result = measure(differ, protocol, options.count, options.connections)
        print(protocol, json.dumps({key: round(value, 1) for key, value in result.items()}), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
