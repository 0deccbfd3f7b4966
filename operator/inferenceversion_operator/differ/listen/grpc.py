"""Copies over gRPC. Messages are taken as bytes: nothing is parsed before the copy is queued."""

import hashlib
from typing import TypeAlias

import grpc
import grpc.aio

from inferenceversion_operator.differ.intake import Intake
from inferenceversion_operator.differ.judge import Mirrored, Protocol
from inferenceversion_operator.differ.tally import Drop

METHOD = "/inference.GRPCInferenceService/ModelInfer"
_Handler: TypeAlias = "grpc.RpcMethodHandler[bytes, bytes]"
_CALLS = 2048  # at once


class GrpcListener:
    """Takes copies on a port; see ``start``."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._server: grpc.aio.Server | None = None

    async def start(self, host: str, port: int) -> int:
        """Listen, and return the port."""
        self._server = grpc.aio.server(
            handlers=[_Methods(self._intake)],
            maximum_concurrent_rpcs=_CALLS,
            options=[
                # It holds for what comes out of a compressed message, too.
                ("grpc.max_receive_message_length", self._intake.limits.request_bytes),
                ("grpc.max_metadata_size", 16 << 10),
                ("grpc.so_reuseport", 0),
            ],
        )
        bound = self._server.add_insecure_port(f"{host}:{port}")
        await self._server.start()
        return bound

    async def stop(self) -> None:
        if self._server:
            await self._server.stop(1.0)


class _Methods(grpc.GenericRpcHandler):
    """ModelInfer is queued; what else comes is counted and not known."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._infer: _Handler = grpc.unary_unary_rpc_method_handler(self._take)

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> "_Handler | None":
        if handler_call_details.method == METHOD:
            return self._infer
        self._intake.tally.received += 1
        self._intake.tally.drop(Drop.NOT_INFERENCE)
        return None

    async def _take(self, message: bytes, _context: "grpc.aio.ServicerContext[bytes, bytes]") -> bytes:
        self._intake.tally.received += 1  # a message that is too large does not get here
        refused = self._intake.refusal()
        if not refused and not self._intake.memory.take(len(message)):
            refused = Drop.MEMORY
        if refused:
            self._intake.tally.drop(refused)
        else:
            digest = hashlib.sha256(message).hexdigest()
            self._intake.put(Mirrored(Protocol.GRPC, METHOD, {}, message, None, digest))
        return b""
