"""Asks a version over gRPC."""

import time

import grpc
import grpc.aio

from inferenceversion_operator.differ.judge import Answer, Mirrored
from inferenceversion_operator.differ.labels import clean
from inferenceversion_operator.differ.memory import Lease
from inferenceversion_operator.differ.plan import Limits, Side
from inferenceversion_operator.differ.replay import HEADER_TRAFFIC, TRAFFIC_SHADOW
from inferenceversion_operator.differ.replay.rotating import MAX_AGE_S, Rotating

_CHANNELS = 4  # each is one connection, so one pod
_PROBLEM = 200  # characters of an error's text
_IDENTITY_ONLY = 1  # a bit an algorithm; the first is no compression


class GrpcReplayer:
    """Keeps a few channels to one version's Service, each for ``max_age`` seconds."""

    def __init__(self, side: Side, limits: Limits, *, max_age: float = MAX_AGE_S) -> None:
        self._target = f"{side.host}:{side.grpc_port}"
        self._limits = limits
        self._channels = Rotating(self._channel, _close, places=_CHANNELS, max_age=max_age)

    async def ask(self, request: Mirrored, lease: Lease) -> Answer:
        began = time.perf_counter()
        with self._channels.client() as channel:
            call: grpc.aio.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(request.path)
            metadata = ((HEADER_TRAFFIC, TRAFFIC_SHADOW),)
            try:
                body = await call(request.body, timeout=self._limits.timeout_s, metadata=metadata)
                problem = None
            except grpc.aio.AioRpcError as error:
                body, problem = b"", _problem(error)
        lease.take(len(body))
        return Answer(body, None, problem, time.perf_counter() - began)

    async def close(self) -> None:
        await self._channels.close()

    def _channel(self) -> grpc.aio.Channel:
        return grpc.aio.insecure_channel(
            self._target,
            options=[
                ("grpc.max_receive_message_length", self._limits.response_bytes),
                ("grpc.max_metadata_size", 16 << 10),
                ("grpc.compression_enabled_algorithms_bitset", _IDENTITY_ONLY),
                # Else all channels to one address share one connection.
                ("grpc.use_local_subchannel_pool", 1),
                ("grpc.enable_http_proxy", 0),
            ],
        )


async def _close(channel: grpc.aio.Channel) -> None:
    await channel.close()


def _problem(error: grpc.aio.AioRpcError) -> str:
    return f"gRPC {error.code().name}: {clean((error.details() or '').encode(), _PROBLEM)}"
