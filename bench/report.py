"""The results of ``bench.reconcile`` as Markdown."""

import os
from collections.abc import Callable
from typing import Any

_COLUMNS: dict[str, Callable[[dict[str, Any]], str]] = {
    "versions": lambda r: f"{r['versions']}",
    "bare/s": lambda r: f"{r['bare']['rate']:.1f}",
    "operator/s": lambda r: f"{r['operator']['rate']:.1f}",
    "ratio (rounds)": lambda r: f"{r['ratio']:.2f} ({', '.join(f'{ratio:.2f}' for ratio in sorted(r['ratios']))})",
    "ratio of processor time": lambda r: f"{r['cpu_ratio']:.2f}",
    "API server and etcd, ms/version: bare, operator": lambda r: _cpu(r, "server"),
    "controllers, scheduler, kwok": lambda r: _cpu(r, "controllers"),
    "the benchmark's client": lambda r: _cpu(r, "client"),
    "the operator": lambda r: _cpu(r, "operator"),
    "writes/version": lambda r: f"{r['operator']['applies_per_version']:.1f}",
    "single p50, p99 s": lambda r: _quantiles(r["single"]),
    "p50, p99 s beside the load": lambda r: _quantiles(r["busy_probe"]),
    "p50, p99 s beside a resync": lambda r: _quantiles(r["resync_probe"]),
    "writes at resync, restart": lambda r: f"{r['resync_writes']}, {r['restart_writes']}",
    "restart CPU s": lambda r: f"{r['restart_cpu_s']:.1f}",
    "RSS MiB, after restart": lambda r: f"{r['rss_mib']:.0f}, {r['rss_after_restart_mib']:.0f}",
    "idle CPU %": lambda r: f"{r['idle_cpu_percent']:.1f}",
}


def table(results: list[dict[str, Any]]) -> str:
    """Return a row a figure and a column a size, with the machine named."""
    rows = [f"| {name} | {' | '.join(show(result) for result in results)} |" for name, show in _COLUMNS.items()]
    rows.insert(1, "|---" * (len(results) + 1) + "|")
    return "\n".join([*rows, "", f"{os.cpu_count()} cores; load when it ended: {os.getloadavg()[0]:.1f}"])


def _cpu(result: dict[str, Any], part: str) -> str:
    return ", ".join(f"{result[side]['cpu_ms_per_version'][part]:.1f}" for side in ("bare", "operator"))


def _quantiles(found: dict[str, float]) -> str:
    return f"{found['p50']:.2f}, {found['p99']:.2f} (of {found['of']})" if found else "-"
