"""Release-test build ``slow``: the product's model, later by ``delay_ms`` a batch."""

import time
from typing import Any

from fault import read_fault
from product_model import TritonPythonModel as ProductModel


class TritonPythonModel(ProductModel):
    """Waits before each batch, as a build with a slower kernel would."""

    def initialize(self, args: dict[str, str]) -> None:
        """Load the product's model and read how long to wait."""
        super().initialize(args)
        self._delay_s = read_fault(args)["delay_ms"] / 1000

    def execute(self, requests: list[Any]) -> list[Any]:
        """Answer like the product, after the wait."""
        time.sleep(self._delay_s)
        return super().execute(requests)
