"""What the tests of the differ share: a plan, tensors, answers, and the process itself."""

import json
import struct

from tritonclient.grpc import service_pb2

from inferenceversion_operator.api.types import Tensor, Tolerance
from inferenceversion_operator.differ.judge import Answer, Mirrored, Protocol
from inferenceversion_operator.differ.plan import Limits, Plan, Side

OUTPUTS = (Tensor("LABEL", "BYTES", (1,)), Tensor("SCORES", "FP32", (3,)))
INFER = "/v2/models/news_sentiment/infer"


def a_plan(*, stable=(1, 1), candidate=(1, 1), outputs=OUTPUTS, tolerance=Tolerance(), **changes):  # noqa: B008
    """Return a plan; ``stable`` and ``candidate`` are the ports of HTTP and gRPC on loopback."""
    limits = {
        "concurrency": 4,
        "queue": 8,
        "memory_bytes": 1 << 20,
        "request_bytes": 64 << 10,
        "response_bytes": 64 << 10,
        "timeout_s": 2.0,
    }
    more = {"self_share": 0.0, "sample_size": 5, "keep_payloads": False}
    for name in list(changes):
        (limits if name in limits else more)[name] = changes[name]
    return Plan(
        namespace="news",
        endpoint="sentiment",
        stable=Side("1.0.0", "sentiment-1.0.0", "127.0.0.1", *stable),
        candidate=Side("1.1.0", "sentiment-1.1.0", "127.0.0.1", *candidate),
        outputs=outputs,
        tolerance=tolerance,
        limits=Limits(**limits),
        **more,
    )


def plan_document(plan):
    """Return what ``plan`` looks like in differ.json."""

    def side(one):
        return {
            "version": one.version,
            "name": one.name,
            "host": one.host,
            "httpPort": one.http_port,
            "grpcPort": one.grpc_port,
        }

    limits = plan.limits
    return {
        "namespace": plan.namespace,
        "endpoint": plan.endpoint,
        "stable": side(plan.stable),
        "candidate": side(plan.candidate),
        "outputs": [{"name": t.name, "datatype": t.datatype, "shape": list(t.shape)} for t in plan.outputs],
        "tolerance": {"absolute": plan.tolerance.absolute, "relative": plan.tolerance.relative},
        "limits": {
            "concurrency": limits.concurrency,
            "queue": limits.queue,
            "memoryBytes": limits.memory_bytes,
            "requestBytes": limits.request_bytes,
            "responseBytes": limits.response_bytes,
            "timeoutSeconds": limits.timeout_s,
        },
        "selfShare": plan.self_share,
        "sampleSize": plan.sample_size,
        "keepPayloads": plan.keep_payloads,
    }


def a_copy(body=b"{}", protocol=Protocol.HTTP, digest="0" * 64, **changes):
    fields = {"path": INFER, "headers": {}, "header_length": None} | changes
    return Mirrored(protocol, body=body, digest=digest, **fields)


def json_answer(labels=("positive",), scores=(0.1, 0.2, 0.7), **more):
    """Return the body of an answer in JSON: so many labels, and three scores each."""
    rows = len(labels)
    outputs = [
        {"name": "LABEL", "datatype": "BYTES", "shape": [rows, 1], "data": list(labels)},
        {"name": "SCORES", "datatype": "FP32", "shape": [rows, 3], "data": list(scores)},
    ]
    return json.dumps({"model_name": "news_sentiment", "model_version": "1", "outputs": outputs, **more}).encode()


def binary_answer(labels=("positive",), scores=(0.1, 0.2, 0.7)):
    """Return the same as JSON with bytes behind it, and the JSON's length."""
    rows = len(labels)
    texts = b"".join(struct.pack("<I", len(text)) + text.encode() for text in labels)
    numbers = struct.pack(f"<{len(scores)}f", *scores)
    outputs = [
        {"name": "LABEL", "datatype": "BYTES", "shape": [rows, 1], "parameters": {"binary_data_size": len(texts)}},
        {"name": "SCORES", "datatype": "FP32", "shape": [rows, 3], "parameters": {"binary_data_size": len(numbers)}},
    ]
    head = json.dumps({"model_name": "news_sentiment", "outputs": outputs}).encode()
    return head + texts + numbers, len(head)


def grpc_answer(labels=("positive",), scores=(0.1, 0.2, 0.7), *, raw=True):
    """Return the same as a message of the protocol's own definition."""
    rows = len(labels)
    answer = service_pb2.ModelInferResponse(model_name="news_sentiment", model_version="1", id="7")
    label = answer.outputs.add(name="LABEL", datatype="BYTES", shape=[rows, 1])
    score = answer.outputs.add(name="SCORES", datatype="FP32", shape=[rows, 3])
    if raw:
        answer.raw_output_contents.append(b"".join(struct.pack("<I", len(text)) + text.encode() for text in labels))
        answer.raw_output_contents.append(struct.pack(f"<{len(scores)}f", *scores))
    else:
        label.contents.bytes_contents.extend(text.encode() for text in labels)
        score.contents.fp32_contents.extend(scores)
    return answer.SerializeToString()


def http(body, header_length=None):
    return Answer(body, header_length, seconds=0.01)
