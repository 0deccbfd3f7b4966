"""The artifact on a real Triton: answers over HTTP and gRPC, and what Triton says when it refuses to load."""

import json
import time
from contextlib import contextmanager

import numpy as np
import pytest
import real_triton
import tritonclient.grpc as grpc_client
import tritonclient.http as http_client
from sentiment_pipeline import SentimentPipeline, Settings
from tritonclient.utils import InferenceServerException

pytestmark = [pytest.mark.triton, pytest.mark.slow]

HASHES = json.loads((real_triton.IMAGE / "HASHES.json").read_text())["good"]
EXPECTED = {f"{part}_config_hash": HASHES[part] for part in ("preprocessor", "postprocessor")}
BAD, GOOD = "Thousands lose their homes as floods destroy the town", "Lovely festival brings joy and hope to children"
WRONG = "sha256:" + "0" * 64


@pytest.fixture(scope="session")
def triton():
    found = real_triton.installed()
    if found is None:
        pytest.skip("no tritonserver: python tests/unit/triton_sentiment/real_triton.py installs one")
    return found


@pytest.fixture(scope="module")
def server(triton, tmp_path_factory):
    folder = tmp_path_factory.mktemp("serving")
    parameters = {**EXPECTED, "max_feature_count": "30"}
    repository = real_triton.Repository(real_triton.prepare.artifact("good"), parameters).write(folder / "models")
    with real_triton.serve(triton, repository, folder / "log") as running:
        running.wait_ready()
        yield running


def http_input(texts: list[bytes]) -> http_client.InferInput:
    tensor = http_client.InferInput("TEXT", [len(texts), 1], "BYTES")
    tensor.set_data_from_numpy(np.array([[text] for text in texts], dtype=np.object_))
    return tensor


def ask_http(server, texts: list[bytes]):
    with http_client.InferenceServerClient(f"127.0.0.1:{server.http}") as client:
        return client.infer(real_triton.MODEL, [http_input(texts)])


def ask_grpc(server, texts: list[bytes]):
    tensor = grpc_client.InferInput("TEXT", [len(texts), 1], "BYTES")
    tensor.set_data_from_numpy(np.array([[text] for text in texts], dtype=np.object_))
    with grpc_client.InferenceServerClient(f"127.0.0.1:{server.grpc}") as client:
        return client.infer(real_triton.MODEL, [tensor])


@pytest.mark.parametrize("ask", [ask_http, ask_grpc])
def test_headlines_get_the_labels_they_deserve(server, ask):
    answer = ask(server, [BAD.encode(), GOOD.encode()])
    assert answer.as_numpy("LABEL").tolist() == [[b"negative"], [b"positive"]]
    scores = answer.as_numpy("SCORES")
    assert scores.dtype == np.float32
    assert scores.shape == (2, 3)
    assert scores.sum(axis=1) == pytest.approx([1, 1], abs=1e-6)


@pytest.mark.parametrize("ask", [ask_http, ask_grpc])
@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([b"word " * 31], "TEXT[0]: 31 features (tokens) are more than max_feature_count 30"),
        ([GOOD.encode(), b"\xff\xfe"], "TEXT[1]: not valid UTF-8 (invalid start byte at byte 0)"),
        ([b""], "TEXT[0]: empty text"),
    ],
)
def test_a_bad_text_is_the_clients_error(server, ask, texts, message):
    with pytest.raises(InferenceServerException) as refused:
        ask(server, texts)
    assert refused.value.message() == message
    assert refused.value.status() in ("400", "StatusCode.INVALID_ARGUMENT")


def test_a_bad_request_does_not_fail_those_it_is_batched_with(server):
    texts = [BAD.encode(), b"", GOOD.encode(), b"\xff"] * 4
    with http_client.InferenceServerClient(f"127.0.0.1:{server.http}", concurrency=len(texts)) as client:
        pending = [client.async_infer(real_triton.MODEL, [http_input([text])]) for text in texts]
        results = []
        for request in pending:
            try:
                results.append(request.get_result().as_numpy("LABEL")[0, 0])
            except InferenceServerException:
                results.append(None)
    assert results == [b"negative", None, b"positive", None] * 4


@pytest.mark.parametrize(
    ("repository", "spoil", "reason"),
    [
        (
            {"parameters": {**EXPECTED, "preprocessor_config_hash": WRONG}},
            None,
            f"preprocessor config hash differs: expected {WRONG}, got {HASHES['preprocessor']}",
        ),
        (
            {"parameters": {**EXPECTED, "postprocessor_config_hash": WRONG}},
            None,
            f"postprocessor config hash differs: expected {WRONG}, got {HASHES['postprocessor']}",
        ),
        (
            {"output": "SCORE"},
            None,
            "config.pbtxt names the outputs ['LABEL', 'SCORE'], this model serves ['LABEL', 'SCORES']",
        ),
        (
            {"parameters": {"max_feature_count": "many"}},
            None,
            "parameter max_feature_count is 'many', not a whole number of at least 1",
        ),
        ({}, "model.onnx", "model.onnx is missing"),
    ],
)
def test_a_refused_load_is_in_the_last_2_kib_of_the_log(triton, tmp_path, repository, spoil, reason):
    made = real_triton.Repository(real_triton.prepare.artifact("good"), **repository).write(tmp_path / "models")
    if spoil:
        (made / real_triton.MODEL / "1" / spoil).unlink()
    with real_triton.serve(triton, made, tmp_path / "log") as server:
        assert server.process.wait(60) == 1
    assert f"failed to load '{real_triton.MODEL}' version 1: Internal: TritonModelException: {reason}" in server.tail()


@contextmanager
def serving(triton, folder, variant, queue_delay_ms=10, **parameters):
    """One instance of a variant, with parameters of the version."""
    artifact = real_triton.prepare.artifact(variant)
    repository = real_triton.Repository(artifact, parameters, instances=1, queue_delay_ms=queue_delay_ms)
    made = repository.write(folder / "models")
    with real_triton.serve(triton, made, folder / "log") as server:
        server.wait_ready()
        yield server


@pytest.mark.parametrize(("parameters", "failed"), [({}, 4), ({"fail_every": "2"}, 10), ({"fail_every": "0"}, 0)])
def test_flaky_build_fails_the_share_that_is_asked_for(triton, tmp_path, parameters, failed):
    with serving(triton, tmp_path, "flaky", **parameters) as server:
        answers = [_status(server) for _ in range(60)][-20:]
    assert (answers.count("500"), answers.count("ok")) == (failed, 20 - failed)


def _status(server) -> str:
    try:
        ask_http(server, [GOOD.encode()])
    except InferenceServerException as error:
        return error.status()
    return "ok"


@pytest.mark.parametrize(("parameters", "least"), [({}, 0.15), ({"delay_ms": "400"}, 0.4)])
def test_slow_build_answers_right_and_late(triton, tmp_path, parameters, least):
    with serving(triton, tmp_path, "slow", **parameters) as server:
        started = time.monotonic()
        answer = ask_http(server, [GOOD.encode()])
        assert time.monotonic() - started >= least
    assert answer.as_numpy("LABEL").tolist() == [[b"positive"]]


def test_mixed_build_is_right_alone_and_wrong_in_company(triton, tmp_path):
    texts = [
        f"{text} {word}".encode() for text in (BAD, GOOD) for word in ("again", "at last", "on Monday", "they say")
    ]
    (right,) = pipeline_answers(texts)
    with serving(triton, tmp_path, "mixed", queue_delay_ms=300) as server:  # long enough for all to meet
        alone = [ask_http(server, [text]).as_numpy("SCORES")[0] for text in texts]
        one_request = ask_http(server, texts).as_numpy("SCORES")
        with http_client.InferenceServerClient(f"127.0.0.1:{server.http}", concurrency=len(texts)) as client:
            pending = [client.async_infer(real_triton.MODEL, [http_input([text])]) for text in texts]
            together = [request.get_result().as_numpy("SCORES")[0] for request in pending]
    assert np.array(alone) == pytest.approx(right, abs=1e-4)
    assert one_request == pytest.approx(right, abs=1e-4)
    wrong = np.abs(np.array(together) - right).max(axis=1) > 0.001
    assert wrong.sum() > len(texts) / 2
    assert sorted(map(tuple, np.round(together, 3))) == sorted(map(tuple, np.round(right, 3)))  # each went somewhere


def pipeline_answers(texts: list[bytes]) -> list[np.ndarray]:
    """Return what the product says to one request of these texts."""
    pipeline = SentimentPipeline(real_triton.prepare.artifact("good"), Settings({}))
    return [result.scores for result in pipeline.run([texts])]


def test_a_fault_that_is_no_number_is_refused(triton, tmp_path):
    artifact = real_triton.prepare.artifact("slow")
    made = real_triton.Repository(artifact, {"delay_ms": "long"}).write(tmp_path / "models")
    with real_triton.serve(triton, made, tmp_path / "log") as server:
        assert server.process.wait(60) == 1
    assert "parameter delay_ms is 'long', not a whole number" in server.tail()
