"""Live traffic: its pace, its record, and what the record says."""

import http.server
import json
import threading
import time

import pytest

from demo.ask import Answer, NoAnswer, NotServingError, ask, ask_all, table
from demo.headlines import HEADLINES, MORE
from demo.pace import due, text_of
from demo.tally import in_words, last_answer, only, quantile, tally
from demo.traffic import Traffic

GOOD = {"outputs": [{"name": "LABEL", "data": ["neutral"]}, {"name": "SCORES", "data": [0.1, 0.8, 0.1]}]}


def answer(version: str, sent: float, took: float = 0.01) -> Answer:
    return Answer("text", "neutral", (0.1, 0.8, 0.1), version, "sha256:" + "ab" * 32, sent, sent + took)


def test_the_table_has_a_line_an_answer():
    digest = "sha256:" + "ab" * 32
    answers = [Answer("Ferry is late", "negative", (0.9, 0.08, 0.02), "2.4.0", digest, 5.0, 5.0123)]
    assert list(table(answers)) == [
        "headline       label     neg/neu/pos     version  digest               took",
        "-------------  --------  --------------  -------  -------------------  -----",
        "Ferry is late  negative  0.90 0.08 0.02  2.4.0    sha256:abababababab  12 ms",
    ]


def test_requests_are_due_at_a_steady_pace_and_carry_each_headline_in_turn():
    assert [due(10.0, number, 4) for number in range(4)] == [10.0, 10.25, 10.5, 10.75]
    texts = HEADLINES + MORE
    assert [text_of(number, texts) for number in range(len(texts) + 1)] == [*texts, texts[0]]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(("share", "value"), [(0.5, 50), (0.95, 95), (0.99, 99), (1.0, 100)])
def test_a_quantile_is_not_exceeded_by_its_share(share, value):
    assert quantile(range(1, 101), share) == value


def test_a_record_in_words():
    records = [answer("2.4.0", 1), answer("2.4.1", 2, 0.5), answer("2.4.0", 3), NoAnswer(4, "HTTP 503: no")]
    assert in_words(tally(records)) == (
        "4 requests, 1 failed; 2.4.0 answered 2, 2.4.1 answered 1; p95 500 ms, p99 500 ms"
    )
    assert in_words(tally([])) == "0 requests, 0 failed"


def test_a_version_answers_alone_when_enough_of_the_newest_say_so():
    records = [answer("2.4.1", 1), answer("2.4.0", 2), answer("2.4.0", 3)]
    assert only(records, "2.4.0", since=1, count=2)
    assert not only(records, "2.4.0", since=1, count=3), "too few"
    assert not only(records, "2.4.0", since=2, count=2), "one is from before"
    assert not only(records, "2.4.0", since=0, count=3), "one of the other"
    assert not only([*records, NoAnswer(4, "refused")], "2.4.0", since=1, count=2), "a failure is no answer"


def test_the_last_answer_is_held_against_the_commands_end():
    records = [answer("2.4.1", 1), answer("2.4.1", 2), answer("2.4.0", 3)]
    assert last_answer(records, "2.4.1", ended=1.51) == "the last answer of 2.4.1 came 0.50 s after its end"
    assert last_answer(records, "2.4.1", ended=2.51) == "the last answer of 2.4.1 came 0.50 s before its end"
    assert last_answer(records, "2.4.2", ended=2) == "2.4.2 answered nothing"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    slow = False
    reply = (200, json.dumps(GOOD).encode())

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.slow:
            time.sleep(0.5)
        status, body = self.reply
        self.send_response(status)
        self.send_header("x-inference-version", "2.4.0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture
def service():
    handler = type("Service", (Handler,), {})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"127.0.0.1:{server.server_port}", handler
    server.shutdown()
    server.server_close()
    thread.join()


def test_every_request_is_recorded_in_its_order(service):
    address, _ = service
    with Traffic(address, "news", rate=100) as traffic:
        deadline = time.monotonic() + 30
        while len(traffic.records) < 20 and time.monotonic() < deadline:
            time.sleep(0.01)
    records = traffic.records
    assert len(records) >= 20
    assert tally(records).by_version == {"2.4.0": len(records)}
    assert [r.headline for r in records[:3]] == list(HEADLINES[:3])


def test_a_slow_answer_delays_no_other_request(service):
    address, handler = service
    handler.slow = True
    with Traffic(address, "news", rate=50) as traffic:
        deadline = time.monotonic() + 30
        while len(traffic.records) < 30 and time.monotonic() < deadline:
            time.sleep(0.01)
    first, *_, last = traffic.records[:30]
    assert last.sent - first.sent < 29 * 0.5, "one after the other it would take half a second each"


@pytest.mark.parametrize(
    ("reply", "why"),
    [
        ((503, b"overloaded"), "HTTP 503: overloaded"),
        ((200, b"hello"), "not an answer of the model"),
        ((200, b"[]"), "not an answer of the model"),
        ((200, b'{"outputs": []}'), "not an answer of the model"),
    ],
)
def test_what_is_no_answer_is_recorded_as_what_it_is(service, reply, why):
    address, handler = service
    handler.reply = reply
    seen = ask(address, "news", "text")
    assert isinstance(seen, NoAnswer)
    assert why in seen.why


def test_a_closed_port_is_a_message():
    with pytest.raises(NotServingError, match="does not answer for news"):
        ask_all("127.0.0.1:1", "news", ["text"], patience=0)
