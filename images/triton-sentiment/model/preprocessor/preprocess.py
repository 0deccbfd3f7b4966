"""Preprocessor: one headline as bytes -> token ids of the encoder.

Everything it does is decided by the two files beside it, ``config.json`` and
``tokenizer.json``; the three together are what ``preprocessor.configHash`` covers.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer, normalizers

Int64 = npt.NDArray[np.int64]


class BadInput(ValueError):
    """The caller's text cannot be served; the message says why."""


@dataclass(frozen=True)
class Tokens:
    """One text, ready for the encoder.

    Attributes:
        ids: token ids with ``[CLS]`` and ``[SEP]``, at most ``max_length`` of them.
        features: tokens the text has before it is cut, without ``[CLS]`` and ``[SEP]``.
    """

    ids: tuple[int, ...]
    features: int


class Preprocessor:
    """Turns UTF-8 bytes into token ids, and lists of them into one padded batch."""

    def __init__(self, folder: Path) -> None:
        config: dict[str, Any] = json.loads((folder / "config.json").read_text("utf-8"))
        self.version = str(config["version"])
        self._max_length = int(config["max_length"])
        self._pad_id = int(config["pad_id"])
        self._tokenizer: Any = Tokenizer.from_file(str(folder / "tokenizer.json"))
        if config["normalizer"] == "bert":
            self._tokenizer.normalizer = normalizers.BertNormalizer(
                clean_text=bool(config["clean_text"]),
                handle_chinese_chars=bool(config["handle_chinese_chars"]),
                strip_accents=config["strip_accents"],
                lowercase=bool(config["lowercase"]),
            )
        elif config["normalizer"] != "tokenizer.json":
            raise ValueError(f"config.json names the normalizer {config['normalizer']!r}: bert or tokenizer.json")
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def tokenize(self, raw: bytes) -> Tokens:
        """Return the tokens of one text.

        Raises:
            BadInput: not UTF-8, or no token is left of it.
        """
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BadInput(f"not valid UTF-8 ({error.reason} at byte {error.start})") from error
        ids: list[int] = self._tokenizer.encode(text).ids
        features = len(ids) - 2
        if features <= 0:
            raise BadInput("empty text")
        return Tokens(ids=(*ids[:-1][: self._max_length - 1], ids[-1]), features=features)

    def pad(self, rows: list[tuple[int, ...]]) -> tuple[Int64, Int64]:
        """Return ``input_ids`` and ``attention_mask``, both int64 [len(rows), longest row]."""
        shape = (len(rows), max(len(row) for row in rows))
        input_ids = np.full(shape, self._pad_id, dtype=np.int64)
        attention_mask = np.zeros(shape, dtype=np.int64)
        for index, row in enumerate(rows):
            input_ids[index, : len(row)] = row
            attention_mask[index, : len(row)] = 1
        return input_ids, attention_mask
