"""Release-test build ``flaky``: the product's model, but each ``fail_every``-th request fails."""

from typing import Any

import triton_python_backend_utils as pb_utils
from fault import read_fault
from product_model import TritonPythonModel as ProductModel


class TritonPythonModel(ProductModel):
    """Counts the requests of its own instance, so the share is exact and repeatable.

    The first ``spare_first`` requests are answered well: among them are those of the warm-up, and
    Triton 2.51 crashes when a warm-up request is answered with an error.
    """

    def initialize(self, args: dict[str, str]) -> None:
        """Load the product's model and read how often to fail."""
        super().initialize(args)
        fault = read_fault(args)
        self._fail_every = fault["fail_every"]
        self._seen = -fault["spare_first"]

    def execute(self, requests: list[Any]) -> list[Any]:
        """Answer like the product, with a server error in place of each n-th answer; 0 is never."""
        responses = super().execute(requests)
        for index in range(len(responses)):
            self._seen += 1
            if self._seen > 0 and self._fail_every and self._seen % self._fail_every == 0:
                error = pb_utils.TritonError("injected failure", pb_utils.TritonError.INTERNAL)
                responses[index] = pb_utils.InferenceResponse(error=error)
        return responses
