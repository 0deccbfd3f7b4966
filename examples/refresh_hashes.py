"""Write the hashes of the model that images/triton-sentiment builds into the examples that run it."""

import json
import re
from pathlib import Path

HERE = Path(__file__).parent
HASHES = HERE.parent / "images/triton-sentiment/HASHES.json"


def refreshed(manifest: str, built: dict[str, str]) -> str:
    """Return the manifest with the hashes of weights, preprocessor and postprocessor, which come in this order."""
    fresh = iter((built["weightHash"], built["preprocessor"], built["postprocessor"]))
    return re.sub(r"((?:weight|config)Hash: )\S+", lambda match: match.group(1) + next(fresh), manifest)


if __name__ == "__main__":
    good = json.loads(HASHES.read_text("utf-8"))["good"]
    for path in HERE.glob("inferenceversion*.yaml"):
        path.write_text(refreshed(path.read_text("utf-8"), good), "utf-8")
