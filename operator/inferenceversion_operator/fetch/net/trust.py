"""A certificate authority of the user's own, trusted beside those of the system."""

import ssl
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

NAME = "CA_CERTIFICATE"  # in the Secret of model.sourceSecretRef: PEM, as many certificates as there are


def trust_own_ca(env: MutableMapping[str, str]) -> None:
    """Write what ``CA_CERTIFICATE`` holds and the system's certificates into a file, and name it in ``SSL_CERT_FILE``.

    A Secret gives its values as environment and no file; OpenSSL and obstore read a file.
    """
    own = env.get(NAME, "").strip()
    if not own:
        return
    system = ssl.get_default_verify_paths().cafile
    known = Path(system).read_text() if system else ""
    with tempfile.NamedTemporaryFile("w", suffix=".pem", delete=False) as bundle:
        bundle.write(f"{known}\n{own}\n")
    env["SSL_CERT_FILE"] = bundle.name
