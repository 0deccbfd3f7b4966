"""The operator process: ``python -m inferenceversion_operator``, configured by environment variables alone."""

import argparse
import logging
from collections.abc import Mapping, Sequence

import kopf

from inferenceversion_operator import __version__
from inferenceversion_operator.config import load_config
from inferenceversion_operator.handlers import register

# What `config.py` reads, for people who run the operator without the chart.
VARIABLES: Mapping[str, str] = {
    "IVO_GUARD_IMAGE": "Envoy, the sidecar of every version (required)",
    "IVO_FETCH_IMAGE": "what downloads and verifies: the operator's own image (required)",
    "IVO_DIFFER_IMAGE": "what compares outputs in a shadow (IVO_FETCH_IMAGE)",
    "IVO_IMAGE_PULL_POLICY": "of these: IfNotPresent, Always or Never (IfNotPresent)",
    "IVO_GATEWAY_PARENT_REFS": "JSON list of the Gateways that endpoints attach to unless they name their own (none)",
    "IVO_GATEWAY_DOMAIN": "hostnames are <endpoint>.<namespace>.<this> (inference.local)",
    "IVO_READY_DEADLINE_SECONDS": "a candidate that is not Ready by then is Failed, if another version serves (900)",
    "IVO_PROMETHEUS_URL": "what the gates of a release ask (none: no gate has an answer)",
    "IVO_PROMETHEUS_TIMEOUT_SECONDS": "of one question (5)",
    "IVO_PROMETHEUS_BEARER_TOKEN_FILE": "a file whose content is sent as Authorization: Bearer (none)",
    "IVO_PROMETHEUS_CA_FILE": "PEM of a private CA (none)",
    "IVO_PROMETHEUS_HEADERS": "JSON object of headers such as a tenant's (none)",
    "IVO_WATCH_NAMESPACES": "comma-separated (all)",
    "IVO_HEALTH_PORT": "where /healthz is served (8080)",
    "IVO_LOG_LEVEL": "debug, info, warning or error (info)",
}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the arguments; there is nothing to say but --help and --version."""
    width = max(map(len, VARIABLES))
    lines = [f"  {name:{width}}  {meaning}" for name, meaning in VARIABLES.items()]
    made = argparse.ArgumentParser(
        prog="python -m inferenceversion_operator",
        description="The operator that releases inference services (InferenceVersion, InferenceEndpoint). It runs until"
        "\nSIGTERM, in a cluster or with the current context of KUBECONFIG. The chart sets what follows.",
        epilog="environment variables (defaults in parentheses):\n" + "\n".join(lines),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=__version__)
    return made


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until SIGTERM."""
    parser().parse_args(arguments)
    config = load_config()
    logging.basicConfig(level=config.log_level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    logging.getLogger(__name__).info("inferenceversion-operator %s", __version__)
    registry = kopf.OperatorRegistry()
    register(registry, config)
    kopf.run(
        registry=registry,
        standalone=True,
        clusterwide=not config.namespaces,
        namespaces=config.namespaces,
        liveness_endpoint=f"http://0.0.0.0:{config.health_port}/healthz",
    )


if __name__ == "__main__":
    main()
