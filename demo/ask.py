"""Ask the Gateway, as any HTTP client would, and lay the answers out as a table."""

import http.client
import json
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

MODEL = "news_sentiment"
LABELS = ("negative", "neutral", "positive")
TIMEOUT_S = 10.0


class NotServingError(Exception):
    """The service does not answer in time; the message says what was seen last."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One headline and what was answered; ``sent`` and ``came`` are moments of ``time.monotonic``, in seconds."""

    headline: str
    label: str
    scores: tuple[float, ...]
    version: str
    digest: str
    sent: float
    came: float

    @property
    def milliseconds(self) -> float:
        return (self.came - self.sent) * 1000


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """One headline that was sent, and what came instead of an answer."""

    sent: float
    why: str


def request_body(headline: str) -> str:
    """Return a request of the KServe v2 protocol, in one line."""
    return json.dumps({"inputs": [{"name": "TEXT", "datatype": "BYTES", "shape": [1, 1], "data": [headline]}]})


def ask(gateway: str, host: str, headline: str) -> Answer | NoAnswer:
    """Send one headline on a connection of its own."""
    connection = http.client.HTTPConnection(gateway, timeout=TIMEOUT_S)
    sent = time.monotonic()
    try:
        headers = {"Host": host, "Content-Type": "application/json"}
        connection.request("POST", f"/v2/models/{MODEL}/infer", request_body(headline), headers)
        response = connection.getresponse()
        body = response.read()
        came = time.monotonic()
        if response.status != 200:
            return NoAnswer(sent, f"HTTP {response.status}: {body[:200].decode(errors='replace')}")
        outputs = {output["name"]: output["data"] for output in json.loads(body)["outputs"]}
        label, scores = str(outputs["LABEL"][0]), tuple(float(score) for score in outputs["SCORES"])
    except (OSError, http.client.HTTPException) as error:
        return NoAnswer(sent, str(error) or repr(error))
    except (ValueError, KeyError, IndexError, TypeError) as error:
        return NoAnswer(sent, f"not an answer of the model: {error!r}")
    finally:
        connection.close()
    version, digest = (response.getheader(f"x-inference-{name}", "") for name in ("version", "digest"))
    return Answer(headline, label, scores, version, digest, sent, came)


def ask_all(gateway: str, host: str, headlines: Sequence[str], patience: float = 30) -> list[Answer]:
    """Send each headline; the first may take as long as the Gateway needs to hear of the route.

    Raises:
        NotServingError: no answer came in time.
    """
    deadline = time.monotonic() + patience
    answers = []
    for headline in headlines:
        answer = ask(gateway, host, headline)
        while isinstance(answer, NoAnswer):
            if time.monotonic() > deadline:
                raise NotServingError(f"the Gateway at {gateway} does not answer for {host}: {answer.why}")
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
