"""What a thousand versions take in the operator's memory: the real cache, filled with what a real API server returned.

``family.json`` holds all objects of one version that serves, as they were listed (`python -m bench record` makes it
anew). Nothing runs beside: the numbers do not depend on load.
"""

import gc
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench import objects, reconcile
from inferenceversion_operator.adapters.kube.cache import Cache
from inferenceversion_operator.adapters.kube.resources import (
    CHILDREN,
    ENDPOINT_SLICE,
    INFERENCE_ENDPOINT,
    INFERENCE_VERSION,
    POD,
)
from inferenceversion_operator.adapters.kube.watch import list_all
from inferenceversion_operator.api.names import version_name
from inferenceversion_operator.core.decide import decide
from inferenceversion_operator.reconcile.observe import Reader, observe

FAMILY = Path(__file__).parent / "family.json"
_NAMESPACE = "ours"
_RECORDED = objects.version(_NAMESPACE, 1)["metadata"]["name"]
_WARM_UP = 50
_PER = 1000


def run() -> dict[str, float]:
    """Measure in a process of its own, which has nothing else in its memory."""
    command = [sys.executable, "-m", "bench.memory"]
    return dict(json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def table(found: dict[str, float]) -> str:
    """Return the results as Markdown."""
    rows = [f"| {what} | {value:.1f} |" for what, value in found.items()]
    return "\n".join(["| | MiB |", "|---|---|", *rows])


async def record(folder: Path, say: Callable[[str], None]) -> None:
    """Let an operator release one version on a real API server, and keep what is there then."""
    found: list[dict[str, Any]] = []
    async with reconcile.started(folder, say) as bench:
        await reconcile.make(bench, [reconcile.our_job(1)])
        for resource in (INFERENCE_VERSION, INFERENCE_ENDPOINT, POD, ENDPOINT_SLICE, *CHILDREN):
            found += await list_all(bench.client, resource, _NAMESPACE)
    FAMILY.write_text(json.dumps(found, indent=1) + "\n")


def _fill() -> dict[str, float]:
    """Put versions into the cache and decide once about each; return the resident memory after each stage."""
    cache, reader = Cache(lambda _key, _asked: None), Reader()
    texts = [json.dumps(obj) for obj in json.loads(FAMILY.read_text())]

    def put(numbers: range) -> None:
        for number in numbers:
            for raw in _copy(texts, number):
                cache.put(json.loads(raw))

    def look(numbers: range) -> None:
        for number in numbers:
            key = (_NAMESPACE, objects.endpoint_of(number))
            decide(observe(cache, key, objects.SETTINGS, None, reader), datetime.now(UTC))

    put(range(_WARM_UP))
    look(range(_WARM_UP))
    begin = _rss_mib()
    put(range(_WARM_UP, _WARM_UP + _PER))
    filled = _rss_mib()
    look(range(_WARM_UP, _WARM_UP + _PER))
    return {
        "the modules that were imported": begin,
        f"the cache, for {_PER} versions": filled - begin,
        f"what decisions keep, for {_PER} versions": _rss_mib() - filled,
    }


def _copy(texts: list[str], number: int) -> Iterator[str]:
    """Return the family under another name: every string of its own, as many as a cluster would have."""
    made = objects.version(_NAMESPACE, number)["metadata"]["name"]
    names = {
        version_name(_RECORDED): version_name(made),
        _RECORDED: made,
        f'"{objects.endpoint_of(1)}"': f'"{objects.endpoint_of(number)}"',
    }
    for text in texts:
        changed = text
        for before, after in names.items():
            changed = changed.replace(before, after)
        uid = json.loads(text)["metadata"]["uid"]
        yield changed.replace(uid, f"{uid[:24]}{number:012}")


def _rss_mib() -> float:
    gc.collect()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


if __name__ == "__main__":
    print(json.dumps(_fill()))
