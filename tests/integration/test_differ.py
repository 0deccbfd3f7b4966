"""The differ as a process between two real Tritons: the same weights, another tokenizer; and a cluster that takes its objects."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import numpy as np
import pytest
import tritonclient.http as http_client
import yaml
from prometheus_client.parser import text_string_to_metric_families
from tritonclient.grpc import service_pb2

from demo.headlines import HEADLINES
from inferenceversion_operator.api.types import Tolerance
from inferenceversion_operator.core.objects.differ import make_differ
from tests.support.builders import SETTINGS, a_version, an_endpoint
from tests.support.kubectl import KubectlFailed
from tests.support.ports import free_ports
from tests.support.wait import NotYet, wait_until
from tests.unit.differ.support import a_plan, plan_document
from tests.unit.triton_sentiment import real_triton

ROOT = Path(__file__).parents[2]
# The changed tokenizer keeps case: to it a headline in capitals is made of words that it never saw.
TEXTS = [change(text) for change in (str.lower, str, str.upper) for text in HEADLINES]
PATH = f"/v2/models/{real_triton.MODEL}/infer"
METHOD = "/inference.GRPCInferenceService/ModelInfer"
triton = pytest.mark.triton


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    """Return what starts a variant of the model on a Triton of its own; it waits until that is ready."""
    found = real_triton.installed()
    if found is None:
        pytest.skip("no tritonserver: python tests/unit/triton_sentiment/real_triton.py installs one")

    @contextmanager
    def start(variant, **parameters):
        folder = tmp_path_factory.mktemp(variant)
        artifact = real_triton.prepare.artifact(variant)
        repository = real_triton.Repository(artifact, parameters, instances=1).write(folder / "models")
        with real_triton.serve(found, repository, folder / "log") as server:
            server.wait_ready()
            yield server

    return start


@pytest.fixture(scope="module")
def good(serve):
    with serve("good") as server:
        yield server


@pytest.fixture(scope="module")
def tokenizer(serve):
    with serve("tokenizer") as server:
        yield server


class Differ:
    """The process, and what Prometheus would see of it."""

    def __init__(self, process, http, grpc_port, probes):
        self.process = process
        self.http = http
        self.probes = probes
        self.channel = grpc.insecure_channel(f"127.0.0.1:{grpc_port}")

    def send(self, body, headers=None):
        """Send a copy over HTTP and return how long its sender waited."""
        began = time.monotonic()
        request = urllib.request.Request(f"http://127.0.0.1:{self.http}{PATH}", body, headers or {})
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert (answer.status, answer.read()) == (202, b"")
        return time.monotonic() - began

    def send_grpc(self, message):
        assert self.channel.unary_unary(METHOD)(message, timeout=10) == b""

    def see(self, path):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.probes}{path}", timeout=5) as answer:
                return answer.read().decode()
        except OSError as error:
            if self.process.poll() is not None:
                raise AssertionError(f"the differ ended with {self.process.returncode}") from error
            raise NotYet(str(error)) from error

    def counts(self, name, *labels):
        """Return the values of one metric by these of its labels."""
        found = Counter()
        for family in text_string_to_metric_families(self.see("/metrics")):
            for sample in family.samples:
                if sample.name == f"inference_shadow_{name}":
                    found[tuple(sample.labels[label] for label in labels)] += int(sample.value)
        return found

    def count(self, name):
        return self.counts(name).total()

    def settled(self, count):
        """Wait until so many copies were dealt with."""

        def all_done():
            failed = self.counts("failed_total", "side")
            done = self.count("compared_total") + self.count("dropped_total") + failed["stable",] + failed["both",]
            if done != count:
                raise NotYet(f"{done} of {count}")
            return True

        wait_until("waiting until every copy was dealt with", all_done, within=60)

    def mismatch(self):
        return self.count("mismatched_total"), self.count("compared_total")


@contextmanager
def differ(folder, stable, candidate, **changes):
    """Run the differ between two servers as its container would."""
    http, grpc_port, probes = free_ports(3)
    ports = [(server.http, server.grpc) for server in (stable, candidate)]
    plan = a_plan(stable=ports[0], candidate=ports[1], **({"queue": 500, "timeout_s": 10.0} | changes))
    (folder / "differ.json").write_text(json.dumps(plan_document(plan)))
    arguments = [f"--plan={folder / 'differ.json'}", "--host=127.0.0.1", f"--http-port={http}"]
    arguments += [f"--grpc-port={grpc_port}", f"--probe-port={probes}"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "operator"), "PYTHONWARNINGS": "error"}
    command = [sys.executable, "-m", "inferenceversion_operator.differ", *arguments]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    running = Differ(process, http, grpc_port, probes)
    try:
        wait_until("waiting until the differ is well", lambda: running.see("/healthz"), within=30)
        yield running
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert "ERROR" not in (folder / "log").read_text()
    finally:
        running.channel.close()
        process.kill()
        process.wait()


def http_json(texts):
    tensor = {"name": "TEXT", "datatype": "BYTES", "shape": [len(texts), 1], "data": texts}
    return json.dumps({"id": "1", "inputs": [tensor]}).encode(), {"content-type": "application/json"}


def http_binary(texts):
    """Return what Triton's own client sends: bytes in, bytes out."""
    outputs = [http_client.InferRequestedOutput(name, binary_data=True) for name in ("LABEL", "SCORES")]
    tensor = http_client.InferInput("TEXT", [len(texts), 1], "BYTES")
    tensor.set_data_from_numpy(np.array([[text.encode()] for text in texts], dtype=np.object_))
    body, length = http_client.InferenceServerClient.generate_request_body([tensor], outputs=outputs)
    kind = {"content-type": "application/octet-stream"}
    return body, kind | ({"inference-header-content-length": str(length)} if length else {})


def grpc_message(texts):
    request = service_pb2.ModelInferRequest(model_name=real_triton.MODEL)
    request.inputs.add(name="TEXT", datatype="BYTES", shape=[len(texts), 1])
    encoded = [text.encode() for text in texts]
    request.raw_input_contents.append(b"".join(len(text).to_bytes(4, "little") + text for text in encoded))
    return request.SerializeToString()


def said(server, texts):
    """Return the labels and scores that a server gives, asked by Triton's own client."""
    tensor = http_client.InferInput("TEXT", [len(texts), 1], "BYTES")
    tensor.set_data_from_numpy(np.array([[text.encode()] for text in texts], dtype=np.object_))
    with http_client.InferenceServerClient(f"127.0.0.1:{server.http}") as client:
        answer = client.infer(real_triton.MODEL, [tensor])
    return [label.decode() for label in answer.as_numpy("LABEL").reshape(-1)], answer.as_numpy("SCORES")


def send_all(running):
    """Send every text alone, over each of the three ways."""
    for text in TEXTS:
        running.send(*http_json([text]))
        running.send(*http_binary([text]))
        running.send_grpc(grpc_message([text]))


@triton
def test_a_changed_tokenizer_is_found_over_every_protocol_and_counted_right(tmp_path, good, tokenizer):
    before, after = ([said(server, [text]) for text in TEXTS] for server in (good, tokenizer))
    pairs = list(zip(before, after, strict=True))
    flips = Counter((ours[0][0], theirs[0][0]) for ours, theirs in pairs if ours[0] != theirs[0])
    scores = sum(not np.array_equal(ours[1], theirs[1]) for ours, theirs in pairs)
    assert len(TEXTS) > scores > flips.total() > 0, "the example shows what it is to show"
    # One at a time: what else is in a batch moves the last bits of scores.
    with differ(tmp_path, good, tokenizer, self_share=1.0, concurrency=1) as running:
        send_all(running)
        running.settled(3 * len(TEXTS))
        assert running.mismatch() == (3 * scores, 3 * len(TEXTS))
        assert running.counts("mismatches_total", "output", "kind") == {
            ("LABEL", "value"): 3 * flips.total(),
            ("SCORES", "value"): 3 * scores,
            **{(output, kind): 0 for output in ("LABEL", "SCORES") for kind in ("shape", "missing")},
            ("", "failed"): 0,
        }
        found = running.counts("label_flips_total", "stable_label", "candidate_label")
        assert found == {pair: 3 * count for pair, count in flips.items()}
        labels = running.counts("labels_total", "side", "label")
        for side, answers in (("stable", before), ("candidate", after)):
            for label, count in Counter(answer[0][0] for answer in answers).items():
                assert labels[side, label] == 3 * count
        bounds = running.counts("scores_bucket", "side", "le")
        assert bounds["candidate", "0.5"] == 3 * sum(int((scores <= 0.5).sum()) for _, scores in after)
        assert bounds["stable", "+Inf"] == 9 * len(TEXTS)
        assert running.counts("failed_total", "side").total() == running.count("dropped_total") == 0
        assert running.count("received_total") == 3 * len(TEXTS)
        length = running.counts("input_length_bucket", "le")
        # Of JSON the text, of the other two its length in four bytes as well.
        longer = sum(len(text) + extra > 64 for text in TEXTS for extra in (0, 4, 4))
        assert length["+Inf",] - length["64.0",] == longer
        # Stable agrees with itself, so what differs is the candidate's doing.
        wait_until(
            "waiting until stable was asked again",
            lambda: running.count("noise_compared_total") == 3 * len(TEXTS),
            within=30,
        )
        assert running.count("noise_mismatched_total") == 0
        document = json.loads(running.see("/differences"))
    assert {entry["protocol"] for entry in document["differences"]} == {"http", "grpc"}
    assert not any(re.search(text, json.dumps(document)) for text in TEXTS), "no payload is kept"


@triton
def test_the_same_version_twice_is_no_mismatch_in_batches_and_alone(tmp_path, good):
    with differ(tmp_path, good, good, tolerance=Tolerance(1e-5)) as running:
        send_all(running)
        running.send(*http_json(TEXTS))
        running.send(*http_binary(TEXTS))
        running.send_grpc(grpc_message(TEXTS))
        running.settled(3 * len(TEXTS) + 3)
        assert running.mismatch() == (0, 3 * len(TEXTS) + 3)


@triton
def test_what_clients_do_wrong_is_no_evidence(tmp_path, good, tokenizer):
    with differ(tmp_path, good, tokenizer) as running:
        for body, headers in (http_json([""]), (b"{", {}), (b"", {}), http_json([TEXTS[0]] * 33)):
            running.send(body, headers)
        running.send_grpc(grpc_message([""]))
        running.send_grpc(b"\xff\xff")
        running.settled(6)
        assert running.mismatch() == (0, 0)
        assert running.counts("failed_total", "side")["both",] == 6


@triton
def test_a_build_that_mixes_up_a_batch_is_found_when_requests_come_side_by_side(tmp_path, good, serve):
    with serve("mixed") as mixed, differ(tmp_path, good, mixed, concurrency=16) as running:
        with ThreadPoolExecutor(16) as pool:
            list(pool.map(lambda text: running.send(*http_json([text])), TEXTS * 5))
        running.settled(5 * len(TEXTS))
        mismatched, compared = running.mismatch()
        assert compared == 5 * len(TEXTS)
        assert mismatched > 0


@triton
def test_a_candidate_that_dies_counts_and_stable_that_dies_does_not(tmp_path, good, serve):
    with serve("good") as dying:
        (tmp_path / "one").mkdir()
        (tmp_path / "other").mkdir()
        with (
            differ(tmp_path / "one", good, dying) as running,
            differ(tmp_path / "other", dying, good) as turned,
        ):
            for each in (running, turned):
                each.send(*http_json(TEXTS[:1]))
                each.send_grpc(grpc_message(TEXTS[:1]))
                each.settled(2)
                assert each.mismatch() == (0, 2)
            dying.process.kill()
            dying.process.wait()
            for each in (running, turned):
                each.send(*http_json(TEXTS[:1]))
                each.send_grpc(grpc_message(TEXTS[:1]))
                each.settled(4)
            assert running.mismatch() == (2, 4)
            assert running.counts("mismatches_total", "kind")["failed",] == 2
            assert turned.mismatch() == (0, 2)
            assert turned.counts("failed_total", "side")["stable",] == 2


@triton
def test_a_slow_candidate_fills_the_queue_and_nobody_waits_for_it(tmp_path, good, serve):
    with (
        serve("slow", delay_ms="2000") as slow,
        differ(tmp_path, good, slow, queue=5, concurrency=2, timeout_s=1.0) as running,
    ):
        waited = sorted(running.send(*http_json(TEXTS[:1])) for _ in range(60))
        assert waited[len(waited) // 2] < 0.2, "senders wait a small part of what the candidate takes"
        running.settled(60)
        dropped = running.counts("dropped_total", "reason")
        assert dropped["queue_full",] == dropped.total() > 30
        mismatched, compared = running.mismatch()
        assert mismatched == compared == 60 - dropped.total()
        assert running.counts("failed_total", "side")["candidate",] == compared
        seconds = running.counts("replay_seconds_bucket", "side", "le")
        assert seconds["candidate", "0.75"] == 0
        assert seconds["stable", "0.75"] == compared


def test_a_cluster_takes_the_objects_and_admits_the_pod(kubectl):
    kubectl.run("label", "namespace", kubectl.namespace, "pod-security.kubernetes.io/enforce=restricted")
    endpoint = an_endpoint(namespace=kubectl.namespace)
    objects = make_differ(endpoint, a_version("2.4.0"), a_version("2.4.1"), SETTINGS)
    for obj in objects:
        obj["metadata"].pop("ownerReferences")  # of an endpoint that is not there
    kubectl.run("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump_all(objects))
    template = objects[1]["spec"]["template"]
    pod = {"apiVersion": "v1", "kind": "Pod", **template}
    pod["metadata"] = {**template["metadata"], "name": "differ"}
    kubectl.run("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(pod))
    config_map = objects[0]
    config_map["data"]["differ.json"] += " "
    with pytest.raises(KubectlFailed, match="immutable"):
        kubectl.run("apply", "--server-side", "-f", "-", stdin=yaml.safe_dump(config_map))
