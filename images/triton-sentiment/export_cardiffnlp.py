#!/usr/bin/env python3
"""Export the GPU reference model: ``export_cardiffnlp.py --out DIR``.

``cardiffnlp/twitter-roberta-base-sentiment-latest`` through ``torch.onnx`` at opset 15, in the
layout of ``build_model.py``, so that the same Triton entry serves it. Needs network and, besides
``build-requirements.txt``, the packages ``torch`` and ``transformers``, which this folder does not pin. The
weights are under CC-BY-4.0 by their own page: name the authors where you pass them on.
"""

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True

import onnx  # noqa: E402
from sentiment_build.artifact import hashes_of, write_code, write_json, write_steps  # noqa: E402
from sentiment_build.corpus import LABELS  # noqa: E402
from tokenizers import Regex, normalizers  # noqa: E402

MODEL = "cardiffnlp/twitter-roberta-base-sentiment-latest"
OPSET = 15
# How the authors prepared their training text: names of people and addresses carry no sentiment.
REPLACEMENTS = ((r"(?<!\S)@\S+", "@user"), (r"(?<!\S)http\S*", "http"))
PREPROCESSOR = {"max_length": 128, "normalizer": "tokenizer.json", "pad_id": 1, "version": "v1.0.0"}
CALIBRATOR = {
    "labels": list(LABELS),
    "method": "temperature",
    "temperature": 1.0,
    "version": "score_calibrator_v1.0.0",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Download, export and write the artifact; return the exit code: 0, or 1 after a message."""
    options = parser().parse_args(arguments)
    if options.out.exists() and any(options.out.iterdir()):
        print(f"export_cardiffnlp.py: {options.out} is not empty", file=sys.stderr)
        return 1
    try:
        torch, transformers = (importlib.import_module(name) for name in ("torch", "transformers"))
    except ImportError as error:
        print(f"export_cardiffnlp.py: {error}; needs torch and transformers", file=sys.stderr)
        return 1
    model = transformers.AutoModelForSequenceClassification.from_pretrained(MODEL, revision=options.revision)
    names = check_labels(model.config.id2label)
    tokenizer = transformers.AutoTokenizer.from_pretrained(MODEL, revision=options.revision).backend_tokenizer
    write_code(options.out)
    write_json(options.out / "labels.json", names)
    write_steps(options.out, CALIBRATOR, tokenizer_json(tokenizer), PREPROCESSOR)
    _export(torch, model, options.out / "model.onnx", options.opset)
    onnx.checker.check_model(str(options.out / "model.onnx"), full_check=True)
    for name, value in hashes_of(options.out, options.opset).as_dict().items():
        print(f"{name:14} {value}")
    return 0


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = argparse.ArgumentParser(description=f"Export {MODEL} as a Triton artifact.")
    made.add_argument("--out", type=Path, required=True, help="folder to write; must be absent or empty")
    made.add_argument("--revision", default="main", help="commit of the model; name one for a release")
    made.add_argument("--opset", type=int, default=OPSET)
    return made


def check_labels(id2label: dict[int, str]) -> list[str]:
    """Return the labels in the order of the logits.

    Raises:
        ValueError: they are not negative, neutral, positive in this order, which clients rely on.
    """
    names = [id2label[index].lower() for index in sorted(id2label)]
    if names != list(LABELS):
        raise ValueError(f"the model's labels are {names}, the contract is {list(LABELS)}")
    return names


def tokenizer_json(tokenizer: Any) -> str:
    """Return the tokenizer with the authors' replacements in it, without truncation and padding."""
    steps = [normalizers.Replace(Regex(pattern), text) for pattern, text in REPLACEMENTS]
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return str(tokenizer.to_str()) + "\n"


def _export(torch: Any, model: Any, path: Path, opset: int) -> None:
    """Trace the model with a batch of two and write it with free batch and sequence axes."""
    model.eval()
    model.config.return_dict = False
    sample = torch.ones((2, 8), dtype=torch.int64)
    torch.onnx.export(
        model,
        (sample, sample),
        str(path),
        input_names=["input_ids", "attention_mask"],
        output_names=["logits"],
        dynamic_axes={
            "input_ids": {0: "batch", 1: "sequence"},
            "attention_mask": {0: "batch", 1: "sequence"},
            "logits": {0: "batch"},
        },
        opset_version=opset,
        do_constant_folding=True,
    )


if __name__ == "__main__":
    sys.exit(main())
