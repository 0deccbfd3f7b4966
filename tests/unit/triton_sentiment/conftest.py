"""The image's code is in no package: it is found by path, and so are the packages that its build pins."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
IMAGE = HERE.parents[2] / "images" / "triton-sentiment"
PARTS = (IMAGE, IMAGE / "model", IMAGE / "model" / "preprocessor", IMAGE / "model" / "postprocessor")

sys.path += [str(HERE), *(str(part) for part in PARTS)]

import pytest  # noqa: E402
import real_triton  # noqa: E402

# Last: what the environment of the tests has itself (numpy, onnx) wins.
sys.path.append(str(real_triton.prepare.packages()))


@pytest.fixture(scope="session")
def artifact() -> Path:
    """Return the product's artifact, from the cache if its inputs have not changed."""
    return Path(real_triton.prepare.artifact("good"))
