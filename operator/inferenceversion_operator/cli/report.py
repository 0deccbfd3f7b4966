"""``kubectl iv report``: the evidence of one release, as a page that can be kept and sent."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from inferenceversion_operator.cli import clock
from inferenceversion_operator.cli.cluster import Object, Target, connect
from inferenceversion_operator.cli.completion import complete_version
from inferenceversion_operator.cli.errors import ExitCode, UserError
from inferenceversion_operator.cli.options import Context, Endpoint, Kubeconfig, Namespace
from inferenceversion_operator.cli.output import Format, say, show
from inferenceversion_operator.cli.prometheus import PrometheusError, fetch_series
from inferenceversion_operator.cli.views.report.evidence import Report, collect

EXAMPLES = (
    "kubectl iv report news-sentiment",
    "kubectl iv report news-sentiment --version 2.4.1 -o release-2.4.1.html",
    "kubectl iv report news-sentiment --prometheus http://127.0.0.1:9090   (plots of both versions)",
    "kubectl iv report news-sentiment -o json",
)
_NOT_ASKED = "Prometheus was not asked: kubectl iv report --prometheus URL draws p95, p99 and success of both versions."


def command(
    endpoint: Endpoint,
    version: Annotated[
        str | None,
        typer.Option(
            "--version",
            help="The release of this version; what is under way, else what ended last, where unset.",
            autocompletion=complete_version,
            metavar="VERSION",
        ),
    ] = None,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            help="A file of HTML (- is stdout), or json, or yaml; ENDPOINT-VERSION.html where unset.",
            metavar="FILE|json|yaml",
        ),
    ] = None,
    prometheus: Annotated[
        str | None,
        typer.Option(help="Address of Prometheus, for the plots.", envvar="IVO_PROMETHEUS_URL", metavar="URL"),
    ] = None,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> None:
    """Write what is known of one release: outcome, digest, who and when, its steps, what each gate saw.

    One page of HTML without scripts and without anything from the network, light and dark: to keep, to send, to print.
    With an address of Prometheus also p95, p99, success and requests of both versions over the time of the release.
    """
    cluster = connect(Target(namespace, context, kubeconfig))
    found, versions = cluster.endpoint(endpoint), cluster.versions_of(endpoint)
    report = collect(found, versions, version, clock.now())
    report = _with_series(report, prometheus, versions)
    if output in ("json", "yaml"):
        show(report, Format(output), "")
        return
    from inferenceversion_operator.cli.views.report.page import make_page  # noqa: PLC0415 - other commands don't wait

    page = make_page(report)
    if output == "-":
        print(page)
        return
    path = Path(output or f"{report.endpoint}-{report.version}.html")
    try:
        path.write_text(page, "utf-8")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror}", ExitCode.USAGE) from error
    print(path)


def _with_series(report: Report, url: str | None, versions: list[Object]) -> Report:
    if not url:
        return replace(report, series_missing=_NOT_ASKED)
    names = {v["spec"]["version"]: v["metadata"]["name"] for v in versions}
    if report.name:
        names[report.version] = report.name
    both = [v for v in (report.compared_with, report.version) if v in names]
    try:
        measured = fetch_series(url, report, {str(v): names[v] for v in both})
    except PrometheusError as error:
        say(f"note: no plots: {error}")
        return replace(report, series_missing=f"No plots: {error}")
    if not any(point.value is not None for s in measured.series for point in s.points):
        return replace(report, series_missing=f"Prometheus at {url} has nothing of these versions and this time.")
    return measured
