"""An HTTP(S) server for models: aiohttp's own file server, and routes that misbehave in one way each.

Run by itself it needs aiohttp alone, which the operator's image has. In a cluster: put this file and the certificate
into a ConfigMap, the models into a volume, and run the operator's image with
``python /srv/files.py --root /models --port 8443 --cert /srv/cert.pem --key /srv/key.pem --host 0.0.0.0``.

    /files/<path>            the file, with ranges, ETag and If-Range
    /cut/<n>/<path>          the same, but a connection ends after n bytes of the body
    /cut-once/<n>/<path>     only the first connection does, and the server knows no ranges
    /swap/<n>/<path>         ends after n bytes; from then on the file is another one
    /stall/<path>            one byte, then silence
    /busy/<n>/<path>         503 with Retry-After n times, then the file
    /status/<code>           that status
    /bearer/<token>/<path>   the file to those who have the token
    /basic/<user>/<password>/<path>
    /to?url=                 302 to there
    /loop/<n>                302 to /loop/<n+1>
    /api/models/<owner>/<repo>/tree/<commit>, /<owner>/<repo>/resolve/<commit>/<path>   the hub's routes over /<owner>/<repo>
    /seen                    JSON: path, authorization and range of every request so far
"""

import argparse
import asyncio
import base64
import contextlib
import json
import ssl
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from aiohttp import web


class Routes:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.seen: list[dict[str, str | None]] = []
        self.count: Counter[str] = Counter()

    @web.middleware
    async def remember(self, request: web.Request, handler: Any) -> web.StreamResponse:
        headers = request.headers
        self.seen.append(
            {"path": request.path, "authorization": headers.get("Authorization"), "range": headers.get("Range")}
        )
        self.count[request.path] += 1
        answer: web.StreamResponse = await handler(request)
        return answer

    def _file(self, request: web.Request) -> Path:
        path = self.root / request.match_info["path"]
        if not path.is_file():
            raise web.HTTPNotFound
        return path

    async def files(self, request: web.Request) -> web.StreamResponse:
        return web.FileResponse(self._file(request), chunk_size=1 << 20)

    async def cut(self, request: web.Request) -> web.StreamResponse:
        data = self._file(request).read_bytes()
        begin = int(request.headers.get("Range", "bytes=0-")[6:-1])
        return await self._part(request, data, begin, int(request.match_info["n"]), etag='"one"')

    async def cut_once(self, request: web.Request) -> web.StreamResponse:
        data = self._file(request).read_bytes()
        end = int(request.match_info["n"]) if self.count[request.path] == 1 else len(data)
        return await self._part(request, data, 0, end, etag='"one"')

    async def swap(self, request: web.Request) -> web.StreamResponse:
        data = self._file(request).read_bytes()
        if self.count[request.path] == 1:
            return await self._part(request, data, 0, int(request.match_info["n"]), etag='"one"')
        return await self._part(request, data[::-1], 0, len(data), etag='"other"')

    async def _part(self, request: web.Request, data: bytes, begin: int, count: int, etag: str) -> web.StreamResponse:
        answer = web.StreamResponse(status=206 if begin else 200, headers={"ETag": etag})
        answer.content_length = len(data) - begin
        if begin:
            answer.headers["Content-Range"] = f"bytes {begin}-{len(data) - 1}/{len(data)}"
        await answer.prepare(request)
        await answer.write(data[begin : begin + count])
        if begin + count < len(data):
            assert request.transport
            request.transport.close()
        return answer

    async def stall(self, request: web.Request) -> web.StreamResponse:
        answer = web.StreamResponse()
        answer.content_length = self._file(request).stat().st_size
        await answer.prepare(request)
        await answer.write(b"x")
        await asyncio.Event().wait()
        return answer

    async def busy(self, request: web.Request) -> web.StreamResponse:
        if self.count[request.path] <= int(request.match_info["n"]):
            return web.Response(status=503, headers={"Retry-After": "0"})
        return await self.files(request)

    async def status(self, request: web.Request) -> web.StreamResponse:
        return web.Response(status=int(request.match_info["code"]), text="a body that nobody should see")

    async def bearer(self, request: web.Request) -> web.StreamResponse:
        return await self._for(request, f"Bearer {request.match_info['token']}")

    async def basic(self, request: web.Request) -> web.StreamResponse:
        pair = f"{request.match_info['user']}:{request.match_info['password']}"
        return await self._for(request, "Basic " + base64.b64encode(pair.encode()).decode())

    async def _for(self, request: web.Request, wanted: str) -> web.StreamResponse:
        if request.headers.get("Authorization") != wanted:
            return web.Response(status=401)
        return await self.files(request)

    async def to(self, request: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": request.query["url"]})

    async def loop(self, request: web.Request) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": f"/loop/{int(request.match_info['n']) + 1}"})

    async def hub_tree(self, request: web.Request) -> web.StreamResponse:
        """One entry a page, so that paging is walked."""
        repo = self.root / request.match_info["owner"] / request.match_info["repo"]
        paths = sorted(path for path in repo.rglob("*"))
        if not paths:
            raise web.HTTPNotFound
        index = int(request.query.get("cursor", "0"))
        path = paths[index]
        kind = "directory" if path.is_dir() else "file"
        entry = {"type": kind, "path": str(path.relative_to(repo)), "size": path.stat().st_size, "oid": "0" * 40}
        link = {}
        if index + 1 < len(paths):
            link = {"Link": f'<{request.url.with_query(recursive="true", cursor=index + 1)}>; rel="next"'}
        return web.json_response([entry], headers=link)

    async def hub_resolve(self, request: web.Request) -> web.StreamResponse:
        info = request.match_info
        return web.HTTPFound(f"/files/{info['owner']}/{info['repo']}/{info['path']}")

    async def told(self, request: web.Request) -> web.StreamResponse:
        return web.json_response(self.seen)


def application(root: Path) -> web.Application:
    routes = Routes(root)
    app = web.Application(middlewares=[routes.remember])
    path = "{path:.+}"
    for pattern, handler in {
        f"/files/{path}": routes.files,
        f"/cut/{{n}}/{path}": routes.cut,
        f"/cut-once/{{n}}/{path}": routes.cut_once,
        f"/swap/{{n}}/{path}": routes.swap,
        f"/stall/{path}": routes.stall,
        f"/busy/{{n}}/{path}": routes.busy,
        "/status/{code}": routes.status,
        f"/bearer/{{token}}/{path}": routes.bearer,
        f"/basic/{{user}}/{{password}}/{path}": routes.basic,
        "/to": routes.to,
        "/loop/{n}": routes.loop,
        "/api/models/{owner}/{repo}/tree/{commit}": routes.hub_tree,
        f"/{{owner}}/{{repo}}/resolve/{{commit}}/{path}": routes.hub_resolve,
        "/seen": routes.told,
    }.items():
        app.router.add_get(pattern, handler)
    return app


async def serve(root: Path, host: str, port: int, context: ssl.SSLContext | None) -> None:
    runner = web.AppRunner(application(root), access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    await web.TCPSite(runner, host, port, ssl_context=context).start()
    print(runner.addresses[0][1], flush=True)
    await asyncio.Event().wait()


class FileServer:
    """The server as a child process, HTTPS with ``ca``, HTTP without."""

    def __init__(self, root: Path, ca: Any = None) -> None:
        self.root = root
        self._ca = ca
        self.url = ""

    def __enter__(self) -> Self:
        from tests.support.servers.process import running, wait_until

        log = self.root.parent / f"{self.root.name}.{'https' if self._ca else 'http'}.log"
        log.unlink(missing_ok=True)
        tls = ["--cert", str(self._ca.cert), "--key", str(self._ca.key)] if self._ca else []
        self._stack = contextlib.ExitStack()
        command = [sys.executable, "-u", __file__, "--root", str(self.root), *tls]
        process = self._stack.enter_context(running(command, log))
        wait_until("the file server listens", lambda: process.poll() is not None or log.read_text().endswith("\n"))
        port = log.read_text().strip()
        if not port.isdecimal():
            self._stack.close()
            raise RuntimeError(port)
        self.url = f"{'https' if self._ca else 'http'}://localhost:{port}"
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def seen(self) -> Iterator[dict[str, str | None]]:
        """Yield what was asked so far."""
        context = ssl.create_default_context(cafile=self._ca.bundle) if self._ca else None
        with urllib.request.urlopen(f"{self.url}/seen", context=context) as answer:
            yield from json.load(answer)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--cert")
    parser.add_argument("--key")
    found = parser.parse_args()
    context = None
    if found.cert:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(found.cert, found.key)
    asyncio.run(serve(found.root, found.host, found.port, context))


if __name__ == "__main__":
    main()
