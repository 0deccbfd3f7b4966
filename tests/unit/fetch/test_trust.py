"""A CA that is the user's own, given by the Secret of model.sourceSecretRef."""

import hashlib
import ssl
from pathlib import Path

from inferenceversion_operator.fetch.net.trust import trust_own_ca


def test_a_server_is_trusted_whose_ca_the_secret_holds(pod, https, ca):
    data = b"weights"
    (https.root / "trusted.onnx").write_bytes(data)
    wanted = {
        "source": f"{https.url}/files/trusted.onnx",
        "weightHash": "sha256:" + hashlib.sha256(data).hexdigest(),
        "fileName": "model.onnx",
        "allowLoopback": True,
    }
    assert pod.run(wanted).reason == "SourceUnreachable"
    ended = pod.run(wanted, {"CA_CERTIFICATE": ca.bundle.read_text()})
    assert (ended.code, ended.reason) == (0, "Verified"), ended


def test_the_systems_authorities_stay_trusted(ca):
    system = ssl.create_default_context().cert_store_stats()["x509_ca"]
    env = {"CA_CERTIFICATE": ca.bundle.read_text()}
    trust_own_ca(env)
    context = ssl.create_default_context(cafile=env["SSL_CERT_FILE"])
    Path(env["SSL_CERT_FILE"]).unlink()
    assert context.cert_store_stats()["x509_ca"] == system + 1


def test_without_one_nothing_changes():
    env: dict[str, str] = {}
    trust_own_ca(env)
    assert env == {}
