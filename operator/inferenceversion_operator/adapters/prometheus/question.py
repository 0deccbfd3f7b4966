"""One question to Prometheus; it blocks, and whatever comes of it is returned, not raised."""

import re
from datetime import datetime
from typing import Any

import requests
from prometheus_api_client import PrometheusConnect
from prometheus_api_client.exceptions import PrometheusApiClientException
from urllib3.exceptions import HTTPError, ReadTimeoutError
from urllib3.util import Retry

from inferenceversion_operator.adapters.prometheus.answers import Answer, NoAnswer, Reason, Sample
from inferenceversion_operator.adapters.prometheus.session import (
    MOST_BYTES,
    Bearer,
    Session,
    TokenMissing,
    TooLarge,
    TooSlow,
    timeouts,
)
from inferenceversion_operator.adapters.prometheus.settings import PrometheusConfig

MOST_SERIES = 1_000
_SHOWN = 300  # characters of what a server says
_UNAUTHORIZED = (401, 403)
_CONNECTION = re.compile(r"^\w+\(host=[^)]*\): (Failed to establish a new connection: )?")  # as urllib3 begins
_QUERY_ERRORS = ("bad_data", "execution")


def ask(config: PrometheusConfig, query: str, at: datetime) -> tuple[Answer, tuple[str, ...]]:
    """Return the answer to an instant query, and Prometheus' warnings about it."""
    with Session(config) as session:
        prometheus = PrometheusConnect(
            config.url,
            headers=dict(config.headers),
            retry=Retry(0, read=False),  # a look that failed is repeated by whoever wants it
            auth=Bearer(config.bearer_token_file),
            session=session,
            timeout=timeouts(config),
            method="POST",
        )
        try:
            result = prometheus.custom_query(query, _parameters(config, at))
            return _read(result, session.answered)
        except (requests.exceptions.JSONDecodeError, LookupError, TypeError, ValueError) as error:
            return _not_prometheus(config, session.answered, error), ()
        except PrometheusApiClientException:
            return _refusal(config, session.answered), ()
        except (OSError, HTTPError, TokenMissing, TooLarge, TooSlow) as error:
            return _failure(config, error), ()
        finally:
            if session.answered is not None:
                session.answered.close()


def _parameters(config: PrometheusConfig, at: datetime) -> dict[str, str]:
    """Return the parameters beside the query; servers ignore those that they don't know.

    An answer from a part of the data would be taken for all of it: Thanos and VictoriaMetrics are told not to give one.
    """
    return {
        "time": f"{at.timestamp():.3f}",
        "timeout": f"{config.timeout_s * 900:.0f}ms",  # Prometheus gives up before we do, and says what it was at
        "limit": str(MOST_SERIES + 1),
        "partial_response": "false",
        "deny_partial_response": "1",
    }


def _read(result: Any, response: requests.Response | None) -> tuple[Answer, tuple[str, ...]]:
    """Return the answer and the warnings; the library hands out the result alone, without its type.

    Raises:
        LookupError, TypeError, ValueError: the answer doesn't look like one of Prometheus.
    """
    envelope = response.json() if response is not None else {}
    return _samples(envelope["data"]["resultType"], result), tuple(map(str, envelope.get("warnings") or ()))


def _samples(kind: str, result: Any) -> Answer:
    """Return the samples of a vector or a scalar.

    Raises:
        LookupError, TypeError, ValueError: the result doesn't look like one of Prometheus.
    """
    if kind == "scalar":
        return (Sample(float(result[1])),)
    if kind != "vector":
        return NoAnswer(Reason.NOT_A_VECTOR, f"the query gives a {kind}: it has to give an instant vector or a scalar")
    if len(result) > MOST_SERIES:
        return NoAnswer(Reason.TOO_MUCH, f"the query gives more than {MOST_SERIES:,} series: aggregate them")
    if any("histogram" in series for series in result):
        message = "the query gives native histograms: take a quantile, a sum or a count of them"
        return NoAnswer(Reason.NOT_A_VECTOR, message)
    return tuple(Sample(float(series["value"][1]), dict(series["metric"])) for series in result)


def _refusal(config: PrometheusConfig, response: requests.Response | None) -> NoAnswer:
    """Return what a status other than 200 means."""
    if response is None:
        return NoAnswer(Reason.HTTP_ERROR, f"{config.url} gave no answer")
    status = response.status_code
    kind, said = _said(response)
    if kind in _QUERY_ERRORS:
        return NoAnswer(Reason.BAD_QUERY, f"Prometheus says: {said}", status)
    if kind == "timeout":
        return NoAnswer(Reason.TIMEOUT, f"Prometheus gave up: {said}", status)
    if 300 <= status < 400:
        to = response.headers.get("location", "nowhere")[:_SHOWN]
        return NoAnswer(Reason.HTTP_ERROR, f"{config.url} redirects to {to}: set the URL that answers itself", status)
    if status in _UNAUTHORIZED:
        message = f"{config.url} answers {status}: {said}; look at the bearer token and the headers"
        return NoAnswer(Reason.UNAUTHORIZED, message, status)
    return NoAnswer(Reason.HTTP_ERROR, f"{config.url} answers {status}: {said}", status)


def _said(response: requests.Response) -> tuple[str, str]:
    """Return the kind of error and the message of Prometheus; of another server the beginning of what it says."""
    try:
        envelope = response.json()
        kind, said = str(envelope["errorType"]), str(envelope["error"])
    except (LookupError, TypeError, ValueError):
        kind, said = "", response.text or response.reason or "nothing"
    return kind, " ".join(said.split())[:_SHOWN]


def _not_prometheus(config: PrometheusConfig, response: requests.Response | None, error: Exception) -> NoAnswer:
    status = response.status_code if response is not None else None
    message = f"what answers at {config.url} is not the API of a Prometheus ({type(error).__name__}): look at the URL"
    return NoAnswer(Reason.HTTP_ERROR, message, status)


def _failure(config: PrometheusConfig, error: Exception) -> NoAnswer:
    """Return what it means that no whole answer came."""
    url = config.url
    match error:
        case TokenMissing():
            return NoAnswer(Reason.UNAUTHORIZED, str(error))
        case TooLarge():
            return NoAnswer(Reason.TOO_MUCH, f"the answer has more than {MOST_BYTES >> 20} MiB: aggregate the series")
        case requests.exceptions.ConnectTimeout():
            return NoAnswer(Reason.UNREACHABLE, f"no connection to {url} within {timeouts(config)[0]:g} s")
        case TooSlow() | requests.exceptions.Timeout() | ReadTimeoutError():
            return NoAnswer(Reason.TIMEOUT, f"no answer from {url} within {config.timeout_s:g} s")
    return NoAnswer(Reason.UNREACHABLE, f"no connection to {url}: {_cause(error)}")


def _cause(error: BaseException) -> str:
    """Return the innermost reason: what the layers above say of it is long and repeats the query."""
    inner = getattr(error, "reason", None) or (error.args[0] if error.args else None)
    if isinstance(inner, BaseException):
        return _cause(inner)
    return _CONNECTION.sub("", str(error))[:_SHOWN]
