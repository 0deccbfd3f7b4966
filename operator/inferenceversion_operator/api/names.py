"""Names of children: valid for every kind, readable, free of collisions.

An InferenceVersion may be called anything a DNS subdomain allows (253 characters, dots, a leading digit);
a Service may not. Every child of a version therefore carries one derived name: the readable part, cut and
cleaned, and eight hex digits of the original's sha256, so that ``a.b-c`` and ``a-b.c`` never meet.
"""

import functools
import hashlib
import re

# A ConfigMap adds "-" and 8 digits of its content's hash; 63 is the limit of a label value and a Service.
VERSION_NAME_MAX = 54
_HASH_LENGTH = 8
# RFC 1123: what an object may be called, and a host. The API server takes at most SUBDOMAIN_MAX characters.
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
SUBDOMAIN_MAX = 253
_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")


def short_hash(text: str, length: int = _HASH_LENGTH) -> str:
    """Return the first ``length`` hex digits of the text's sha256."""
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def _readable(text: str, limit: int, prefix: str) -> str:
    """Reduce ``text`` to a DNS-1035 label of at most ``limit`` characters; ``prefix`` goes before a digit."""
    cleaned = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")
    if not cleaned or not cleaned[0].isalpha():
        cleaned = f"{prefix}-{cleaned}"
    return cleaned[:limit].strip("-")


@functools.lru_cache(maxsize=8192)
def version_name(name: str) -> str:
    """Return the name that all children of the InferenceVersion ``name`` share, and their label value.

    >>> version_name("news-sentiment-2.4.1")
    'news-sentiment-2-4-1-6247f300'
    """
    readable = _readable(name, VERSION_NAME_MAX - _HASH_LENGTH - 1, "v")
    return f"{readable}-{short_hash(name)}"


def endpoint_name(name: str) -> str:
    """Return the name of the endpoint's Service and routes: the endpoint's own name where a Service allows it."""
    if len(name) <= 63 and _DNS_1035.fullmatch(name):
        return name
    return f"{_readable(name, VERSION_NAME_MAX - _HASH_LENGTH - 1, 'e')}-{short_hash(name)}"


def differ_name(endpoint: str) -> str:
    """Return the name of what compares answers for an endpoint; no endpoint or version has one that ends like it."""
    return f"{_readable(endpoint, VERSION_NAME_MAX - _HASH_LENGTH - 8, 'e')}-{short_hash(endpoint)}-differ"


def sticky_name(endpoint: str) -> str:
    """Return the name of the routes of sessions that stay on one version."""
    return f"{_readable(endpoint, VERSION_NAME_MAX - _HASH_LENGTH - 8, 'e')}-{short_hash(endpoint)}-sticky"


def config_map_name(derived: str, content_hash: str) -> str:
    """Return the name of a version's ConfigMap: immutable, so named by its content."""
    return f"{derived}-{content_hash[:_HASH_LENGTH]}"


def label_value(text: str) -> str:
    """Return ``text`` as a valid label value (SemVer's ``+`` is not one); for reading, never for selecting."""
    cleaned = re.sub(r"[^A-Za-z0-9._-]", "_", text)[:63]
    return cleaned.strip("._-")
