"""What the guard adds: the same requests inside the pod, to Triton and through the guard, in turns.

This file is also what runs in the pod: it imports nothing but the standard library there.
"""

import http.client
import json
import sys
import time

_PORTS = {"direct": 8000, "guarded": 8080}


def ask_in_turns(path: str, body: bytes, count: int) -> dict[str, list[float]]:
    """Ask so many times each way on connections that are kept; return what each request took, in seconds.

    Raises:
        SystemExit: an answer was not 200.
    """
    ways = {way: http.client.HTTPConnection("127.0.0.1", port, timeout=20) for way, port in _PORTS.items()}
    took: dict[str, list[float]] = {way: [] for way in ways}
    for turn in range(count):
        for way in sorted(ways, reverse=bool(turn % 2)):
            began = time.perf_counter()
            ways[way].request("POST", path, body, {"Content-Type": "application/json"})
            answer = ways[way].getresponse()
            said = answer.read()
            took[way].append(time.perf_counter() - began)
            if answer.status != 200:
                raise SystemExit(f"{way}: {answer.status} {said[:300]!r}")
    return {way: times[count // 10 :] for way, times in took.items()}  # the first ones make things warm


if __name__ == "__main__":
    print(json.dumps(ask_in_turns(sys.argv[1], sys.argv[2].encode(), int(sys.argv[3]))))
