"""What stands in for Triton behind a guard: an HTTP/1.1 and a gRPC server whose answers tests hold back and release.

The model's name says what happens: ``echo`` answers with the size of the body, ``slow`` first waits for ``release``,
``broken`` fails with 500 and ``cut`` ends in the middle of its answer; ``generate_stream`` of any model takes its time.
A gRPC request whose body is ``status 13`` is answered with that status.
"""

import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import grpc

SERVICE = "inference.GRPCInferenceService"
# What a wrong image might say of itself: the guard's own word must win.
LIE = "0.0.0-lie"
SLOW = b"slow"
STATUS = b"status "
PIECE_SECONDS = 0.25
CODES = {code.value[0]: code for code in grpc.StatusCode}


class Upstream:
    """Both servers, and the gate that their slow answers wait at."""

    def __init__(self) -> None:
        self.release = threading.Event()
        self.entered = threading.Semaphore(0)
        self.headers: list[dict[str, str]] = []  # of the requests that arrived
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.upstream = self
        self._grpc = grpc.server(ThreadPoolExecutor(16), handlers=[_Methods(self)])
        self.grpc_port = self._grpc.add_insecure_port("127.0.0.1:0")

    @property
    def http_port(self) -> int:
        return self._http.server_address[1]

    def hold(self) -> None:
        """Wait for the release; says that it does."""
        self.entered.release()
        self.release.wait(30)

    def wait_entered(self, count: int) -> None:
        """Return when ``count`` more requests wait at the gate."""
        for _ in range(count):
            assert self.entered.acquire(timeout=10), "the request did not reach the upstream"

    def reset(self) -> None:
        """Let go whoever waits and close the gate again."""
        self.release.set()
        self.release = threading.Event()
        self.entered = threading.Semaphore(0)
        self.headers.clear()

    def __enter__(self) -> Self:
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        self._grpc.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.release.set()
        self._grpc.stop(None).wait()
        self._http.shutdown()
        self._http.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    upstream: Upstream


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # headers and body in one packet; two would wait for the delayed ACK
    server: _Server

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        length = self.headers.get("content-length")
        self._answer(self.rfile.read(int(length)) if length else self._chunks())

    def _chunks(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def _answer(self, body: bytes) -> None:
        self.server.upstream.headers.append({key.lower(): value for key, value in self.headers.items()})
        if "/slow/" in self.path:
            self.server.upstream.hold()
        if self.command == "POST" and self.path.endswith("/generate_stream"):
            self._pieces()
            return
        answer = json.dumps({"path": self.path, "bytes": len(body)}).encode()
        try:
            self.send_response(500 if "/broken/" in self.path else 200)
            for name in ("x-inference-version", "x-inference-digest"):
                self.send_header(name, LIE)
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer[:-1] if "/cut/" in self.path else answer)
            self.close_connection = "/cut/" in self.path
        except OSError:  # the guard gave up on this answer
            self.close_connection = True

    def _pieces(self) -> None:
        """Send four pieces, each PIECE_SECONDS after the one before."""
        self.send_response(200)
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for _ in range(4):
            time.sleep(PIECE_SECONDS)
            self.wfile.write(b"7\r\ndata:x\n\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the signature is the library's
        """Say nothing."""


class _Methods(grpc.GenericRpcHandler):
    """Every method of every service: bytes in, the number of bytes out."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> "grpc.RpcMethodHandler[Any, Any]":
        if handler_call_details.method.endswith("ModelStreamInfer"):
            return grpc.stream_stream_rpc_method_handler(self._stream)
        return grpc.unary_unary_rpc_method_handler(self._unary)

    def _unary(self, request: bytes, context: grpc.ServicerContext) -> bytes:
        if request == SLOW:
            self._upstream.hold()
        if request.startswith(STATUS):
            context.abort(CODES[int(request.removeprefix(STATUS))], "as asked")
        context.send_initial_metadata((("x-inference-version", LIE),))
        return str(len(request)).encode()

    def _stream(self, requests: Any, context: grpc.ServicerContext) -> Any:
        for request in requests:
            yield str(len(request)).encode()
