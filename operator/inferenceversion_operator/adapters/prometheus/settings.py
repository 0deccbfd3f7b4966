"""How Prometheus is reached."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class PrometheusConfig:
    """Where to ask, and as whom.

    Attributes:
        url: what ``/api/v1/query`` is appended to, without a slash at its end.
        timeout_s: of one question, once it has its turn; all questions of a look end within twice that.
        bearer_token_file: read anew for every question, so that the token may change.
        ca_file: PEM; read anew for every connection. Empty: the usual authorities.
        headers: on every question, such as ``X-Scope-OrgID``.
    """

    url: str
    timeout_s: float = 5.0
    bearer_token_file: str = ""
    ca_file: str = ""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
