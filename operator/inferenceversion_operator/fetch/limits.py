"""How much a source may cost; a source is a stranger until its hash is known."""

from dataclasses import dataclass

from inferenceversion_operator.fetch.errors import too_large

GIB = 1 << 30
# Below this an archive may expand as it likes: a folder of zeros is no bomb.
_EXPANSION_FROM = 64 << 20


@dataclass(frozen=True, slots=True)
class Limits:
    max_bytes: int = 200 * GIB
    max_files: int = 100_000
    max_depth: int = 32
    max_expansion: int = 200  # bytes out of an archive for each byte of it
    stall_seconds: float = 60  # without progress


class Budget:
    """What was used of the limits so far."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.received = 0
        self.written = 0
        self.files = 0

    def receive(self, count: int) -> None:
        """Count bytes of the source as it is stored: archives packed."""
        self.received += count
        if self.received > self.limits.max_bytes:
            raise too_large(f"the source has more than {self.limits.max_bytes} bytes (--max-bytes)")

    def write(self, count: int) -> None:
        """Count bytes of the files that come out of it."""
        self.written += count
        if self.written > self.limits.max_bytes:
            raise too_large(f"the files of the source have more than {self.limits.max_bytes} bytes (--max-bytes)")
        if self.written > max(_EXPANSION_FROM, self.received * self.limits.max_expansion):
            raise too_large(
                f"the archive expands to more than {self.limits.max_expansion} times its size (--max-expansion)"
            )

    def add_file(self) -> None:
        self.files += 1
        if self.files > self.limits.max_files:
            raise too_large(f"the source has more than {self.limits.max_files} files (--max-files)")

    def announce(self, size: int | None) -> None:
        """Refuse early what its server says is too large."""
        if size is not None and self.received + size > self.limits.max_bytes:
            raise too_large(f"the source has {size} bytes, more than {self.limits.max_bytes} (--max-bytes)")
