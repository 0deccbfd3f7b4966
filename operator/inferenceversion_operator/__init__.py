"""Release inference services by version: the whole stack, not the model alone."""

__version__ = "0.1.0"
