"""Release-test build ``slow``: the product's model, later by ``extra_latency_ms`` a batch."""

import json
import time
from pathlib import Path
from typing import Any

from product_model import TritonPythonModel as ProductModel


class TritonPythonModel(ProductModel):
    """Waits before each batch, as a build with a slower kernel would."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the product's model and read how long to wait."""
        super().initialize(args)
        fault = json.loads((Path(__file__).parent / "fault.json").read_text("utf-8"))
        self._extra_seconds = float(fault["extra_latency_ms"]) / 1000

    def execute(self, requests: list[Any]) -> list[Any]:
        """Answer like the product, after the wait."""
        time.sleep(self._extra_seconds)
        return super().execute(requests)
