"""The three parts of a version, joined: preprocessor -> ONNX model -> postprocessor.

Knows nothing of Triton, so it runs and is tested without a server; ``model.py`` is the
thin shell around it.
"""

import importlib.util
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from folder_hash import content_hash

INPUT = "TEXT"
OUTPUTS = ("LABEL", "SCORES")
PARTS = ("preprocessor", "postprocessor")
DEFAULT_MAX_FEATURE_COUNT = 500


class LoadRefused(RuntimeError):
    """The folder is not what the configuration promises; nothing may be served from it."""


@dataclass(frozen=True)
class Settings:
    """What the model configuration may set.

    Attributes:
        expected_hashes: part name (``preprocessor``, ``postprocessor``) -> ``sha256:<hex>``;
            a part that is not named is not checked.
        max_feature_count: most tokens one text may have before it is cut.
        intra_op_threads: threads of the ONNX session of one instance; 0 = one per core.
    """

    expected_hashes: dict[str, str]
    max_feature_count: int = DEFAULT_MAX_FEATURE_COUNT
    intra_op_threads: int = 1


@dataclass(frozen=True)
class Answer:
    """The result of one request of n texts: n labels, and scores as float32 [n, 3]."""

    labels: list[str]
    scores: npt.NDArray[np.float32]


@dataclass(frozen=True)
class Refusal:
    """A request that its sender has to change; ``message`` says what is wrong with it."""

    message: str


def check_parts(folder: Path, expected: dict[str, str]) -> None:
    """Compare the hash of each named part with the folder of that name.

    Raises:
        LoadRefused: a part differs; names the part, what was expected and what was found.
    """
    for part, wanted in sorted(expected.items()):
        found = content_hash(folder / part)
        if found != wanted:
            raise LoadRefused(f"{part} config hash differs: expected {wanted}, got {found}")


class SentimentPipeline:
    """Serves a list of requests in one run of the model."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        """Check the parts in ``folder``, then load them.

        Raises:
            LoadRefused: a part's hash differs or a file of the model is missing.
        """
        for name in ("model.onnx", "labels.json", *PARTS):
            if not (folder / name).exists():
                raise LoadRefused(f"{name} is missing in {folder}")
        check_parts(folder, settings.expected_hashes)
        with _loading("labels.json"):
            labels = tuple(json.loads((folder / "labels.json").read_text("utf-8")))
        with _loading("preprocessor"):
            preprocess = _load_module(folder / "preprocessor" / "preprocess.py")
            self._bad_input: type[Exception] = preprocess.BadInput
            self._preprocessor: Any = preprocess.Preprocessor(folder / "preprocessor")
        with _loading("postprocessor"):
            postprocess = _load_module(folder / "postprocessor" / "postprocess.py")
            self._postprocessor: Any = postprocess.Postprocessor(folder / "postprocessor", labels)
        with _loading("model.onnx"):
            self._session = _open_session(folder / "model.onnx", settings.intra_op_threads)
        self._max_feature_count = settings.max_feature_count

    def run(self, requests: Sequence[Sequence[bytes]]) -> list[Answer | Refusal]:
        """Return one result per request, in order.

        All texts of all good requests go through the model as one padded batch. A request
        with a bad text is refused as a whole and does not touch the others.
        """
        prepared = [self._prepare(texts) for texts in requests]
        rows = [row for item in prepared if not isinstance(item, Refusal) for row in item]
        scores = self._infer(rows) if rows else np.zeros((0, 3), dtype=np.float32)
        labels: list[str] = self._postprocessor.label(scores)
        results: list[Answer | Refusal] = []
        start = 0
        for item in prepared:
            if isinstance(item, Refusal):
                results.append(item)
                continue
            end = start + len(item)
            results.append(Answer(labels[start:end], scores[start:end]))
            start = end
        return results

    def _prepare(self, texts: Sequence[bytes]) -> list[tuple[int, ...]] | Refusal:
        if not texts:
            return Refusal(f"{INPUT}: no text in the request")
        rows: list[tuple[int, ...]] = []
        for index, raw in enumerate(texts):
            try:
                tokens = self._preprocessor.tokenize(raw)
            except self._bad_input as error:
                return Refusal(f"{INPUT}[{index}]: {error}")
            if tokens.features > self._max_feature_count:
                return Refusal(
                    f"{INPUT}[{index}]: {tokens.features} features (tokens) are more than "
                    f"max_feature_count {self._max_feature_count}"
                )
            rows.append(tokens.ids)
        return rows

    def _infer(self, rows: list[tuple[int, ...]]) -> npt.NDArray[np.float32]:
        input_ids, attention_mask = self._preprocessor.pad(rows)
        feeds = {"input_ids": input_ids, "attention_mask": attention_mask}
        (logits,) = self._session.run(["logits"], feeds)
        scores: npt.NDArray[np.float32] = self._postprocessor.scores(logits)
        return scores


@contextmanager
def _loading(what: str) -> Iterator[None]:
    """Turn whatever goes wrong in the libraries into a refusal that names the part."""
    try:
        yield
    except Exception as error:
        raise LoadRefused(f"{what} cannot be loaded: {error}") from error


def _open_session(path: Path, intra_op_threads: int) -> Any:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = intra_op_threads
    options.inter_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def _load_module(path: Path) -> ModuleType:
    """Import a part by its path: it belongs to this version and to no other on the machine."""
    spec = importlib.util.spec_from_file_location(f"news_sentiment_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise LoadRefused(f"cannot import {path}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their own module up by its name
    spec.loader.exec_module(module)
    return module
