"""A certificate authority of one's own; programs trust it through ``SSL_CERT_FILE``."""

from pathlib import Path

import trustme


class Ca:
    """``bundle`` is the CA's certificate, ``cert`` and ``key`` are those of a server by the names ``hosts``."""

    def __init__(self, folder: Path, hosts: tuple[str, ...] = ("localhost",)) -> None:
        authority = trustme.CA()
        issued = authority.issue_cert(*hosts)
        self.bundle, self.cert, self.key = folder / "ca.pem", folder / "cert.pem", folder / "key.pem"
        authority.cert_pem.write_to_path(self.bundle)
        issued.private_key_pem.write_to_path(self.key)
        for index, blob in enumerate(issued.cert_chain_pems):
            blob.write_to_path(self.cert, append=index > 0)
