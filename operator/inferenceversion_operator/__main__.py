"""The operator process."""

import logging

import kopf

from inferenceversion_operator import __version__
from inferenceversion_operator.config import load_config
from inferenceversion_operator.handlers import register


def main() -> None:
    """Run until SIGTERM."""
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
