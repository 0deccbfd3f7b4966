"""A small API server: lists and merge-patches our two kinds over real HTTP, so that the client's own road is tested."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import yaml

from tests.support.merge_patch import merged

PREFIX = "/apis/inferenceversion.io/v1alpha1"


class FakeApi:
    """Objects by plural; ``refuse`` makes it answer every request so; ``after_patch`` plays the operator.

    ``children`` are what the operator made, by plural: a list, or how a request for it is refused.
    """

    def __init__(self):
        self.objects = {"inferenceendpoints": [], "inferenceversions": []}
        self.children = {plural: [] for plural in ("configmaps", "services", "pods")}  # by plural
        self.patches = []
        self.dry_runs = []
        self.refuse_dry_run = None
        self.refuse = None
        self.after_patch = None
        self.user = "system:serviceaccount:news:ci"
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def add(self, *objects):
        for obj in objects:
            self.objects[f"{obj['kind'].lower()}s"].append(obj)

    def endpoint(self):
        return self.objects["inferenceendpoints"][0]

    def kubeconfig(self, path, namespace="news"):
        context = {"cluster": "c", "user": "u", "namespace": namespace}
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "clusters": [{"name": "c", "cluster": {"server": self.url}}],
            "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [
                {"name": "here", "context": context},
                {"name": "there", "context": {**context, "namespace": "other"}},
            ],
        }
        path.write_text(yaml.safe_dump(config))
        return path

    def answer(self, method, path, headers, body):
        if self.refuse:
            return self.refuse
        if not path.startswith(PREFIX):
            return self._of_others(path)
        return self._ours(method, path, headers, body)

    def _ours(self, method, path, headers, body):
        _, _, rest = path.partition(PREFIX)
        parts = rest.partition("?")[0].strip("/").split("/")
        namespace, parts = (parts[1], parts[2:]) if parts[0] == "namespaces" else (None, parts)
        found = [o for o in self.objects[parts[0]] if namespace in (None, o["metadata"]["namespace"])]
        if method == "GET" and len(parts) == 1:
            return 200, {"items": found}
        named = next((o for o in found if o["metadata"]["name"] == parts[1]), None)
        if "dryRun=All" in path:
            self.dry_runs.append(json.loads(body))
            return self.refuse_dry_run or (200, merged(named or {}, json.loads(body)))
        if named is None:
            return 404, {"kind": "Status", "message": f"{parts[0]} {parts[1]} not found"}
        return (200, named) if method == "GET" else self._patched(path, headers, body, named)

    def _patched(self, path, headers, body, named):
        self.patches.append((headers["Content-Type"], path, json.loads(body)))
        changed = merged(named, json.loads(body))
        if changed.get("spec") != named.get("spec"):  # metadata and status don't count
            changed["metadata"]["generation"] += 1
        stored = self.objects[f"{named['kind'].lower()}s"]
        stored[stored.index(named)] = changed
        if self.after_patch:
            self.after_patch(changed)
        return 200, changed

    def _of_others(self, path):
        """Say who asks, or list children; a kind that nobody added is one that the cluster does not serve."""
        if path.startswith("/apis/authentication.k8s.io/v1/selfsubjectreviews"):
            return 201, {"status": {"userInfo": {"username": self.user}}}
        found = self.children.get(path.partition("?")[0].rpartition("/")[2])
        if found is None:
            return 404, "404 page not found\n"
        if not isinstance(found, list):
            return found
        return 200, {"items": [{k: v for k, v in o.items() if k not in ("kind", "apiVersion")} for o in found]}

    def _handler(api):  # noqa: N805
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _serve(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                status, answer = api.answer(self.command, self.path, self.headers, body)
                payload = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
                self.send_response(status)
                kind = "text/plain" if isinstance(answer, str) else "application/json"
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            do_GET = do_PATCH = do_POST = _serve  # noqa: N815

            def log_message(self, *args):
                pass

        return Handler
