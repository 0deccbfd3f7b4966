"""Ask the Gateway, as any HTTP client would, and lay the answers out as a table."""

import http.client
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from demo.version import NotServingError

MODEL = "news_sentiment"
LABELS = ("negative", "neutral", "positive")


@dataclass(frozen=True, slots=True)
class Answer:
    headline: str
    label: str
    scores: tuple[float, ...]
    version: str
    digest: str
    milliseconds: float


def request_body(headline: str) -> str:
    """Return a request of the KServe v2 protocol, in one line."""
    return json.dumps({"inputs": [{"name": "TEXT", "datatype": "BYTES", "shape": [1, 1], "data": [headline]}]})


def ask(gateway: str, host: str, headline: str) -> Answer | str:
    """Send one headline; return the answer, or what the Gateway said instead."""
    connection = http.client.HTTPConnection(gateway, timeout=10)
    began = time.monotonic()
    try:
        headers = {"Host": host, "Content-Type": "application/json"}
        connection.request("POST", f"/v2/models/{MODEL}/infer", request_body(headline), headers)
        response = connection.getresponse()
        body = response.read()
    except OSError as error:
        return str(error)
    finally:
        connection.close()
    if response.status != 200:
        return f"HTTP {response.status}: {body[:200].decode(errors='replace')}"
    outputs = {output["name"]: output["data"] for output in json.loads(body)["outputs"]}
    return Answer(
        headline,
        str(outputs["LABEL"][0]),
        tuple(float(score) for score in outputs["SCORES"]),
        response.getheader("x-inference-version", ""),
        response.getheader("x-inference-digest", ""),
        (time.monotonic() - began) * 1000,
    )


def ask_all(gateway: str, host: str, headlines: Sequence[str], patience: float = 30) -> list[Answer]:
    """Send each headline; the first may take as long as the Gateway needs to hear of the route.

    Raises:
        NotServingError: no answer came in time.
    """
    deadline = time.monotonic() + patience
    answers = []
    for headline in headlines:
        answer = ask(gateway, host, headline)
        while isinstance(answer, str):
            if time.monotonic() > deadline:
                raise NotServingError(f"the Gateway at {gateway} does not answer for {host}: {answer}")
            time.sleep(0.3)
            answer = ask(gateway, host, headline)
        answers.append(answer)
    return answers


def table(answers: Iterable[Answer]) -> Iterator[str]:
    """Yield the lines of a table: headline, label, scores, version, digest."""
    rows = [
        (
            answer.headline,
            answer.label,
            " ".join(f"{score:.2f}" for score in answer.scores),
            answer.version,
            short(answer.digest),
            f"{answer.milliseconds:.0f} ms",
        )
        for answer in answers
    ]
    titles = ("headline", "label", "/".join(label[:3] for label in LABELS), "version", "digest", "took")
    widths = [max(len(row[column]) for row in (titles, *rows)) for column in range(len(titles))]
    for row in (titles, tuple("-" * width for width in widths), *rows):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def short(digest: str) -> str:
    """Return enough of a digest to tell two apart."""
    return digest[: len("sha256:") + 12]
