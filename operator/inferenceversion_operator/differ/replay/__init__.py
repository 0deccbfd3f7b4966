"""How a version is asked again."""

from typing import Protocol

from inferenceversion_operator.differ.judge import Answer, Mirrored
from inferenceversion_operator.differ.memory import Lease

# The guard of a version counts requests with this header apart from live ones.
HEADER_TRAFFIC = "x-inference-traffic"
TRAFFIC_SHADOW = "shadow"


class Replayer(Protocol):
    """Asks one version over one protocol."""

    async def ask(self, request: Mirrored, lease: Lease) -> Answer:
        """Return what the version says; a failure is an answer with a ``problem``.

        Raises:
            MemoryFullError: there is no room for the answer.
        """

    async def close(self) -> None:
        """Close every connection."""
