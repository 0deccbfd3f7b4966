"""The rights of the chart are those that the operator used while these tests ran: no more, no fewer."""

import pytest

from tests.integration.conftest import rendered_chart

# Granted without having been used here, with the reason.
NOT_USED_HERE = {
    ("gateway.networking.k8s.io", "httproutes", "delete"): "when the operator is installed anew without a Gateway",
    ("gateway.networking.k8s.io", "grpcroutes", "delete"): "when the operator is installed anew without a Gateway",
}


def granted():
    """Return group, resource (with its subresource) and verb of every right in the chart."""
    found = set()
    for obj in rendered_chart():
        if obj["kind"] == "ClusterRole" and "aggregationRule" not in obj and "aggregate" not in str(obj["metadata"]):
            for rule in obj["rules"]:
                found |= {(g, r, v) for g in rule["apiGroups"] for r in rule["resources"] for v in rule["verbs"]}
    return found


def used(plane):
    seen = [*plane.requests("inferenceversion-operator"), *plane.requests("kopf/")]
    found = {(r.group, "/".join(filter(None, (r.resource, r.subresource))), r.verb, r.code) for r in seen}
    rights = {(group, resource, verb) for group, resource, verb, code in found if code != 403}
    # Server-side apply of an object that is not there is a patch in the audit log and needs the right to create.
    return rights | {
        (group, resource, "create") for group, resource, verb, code in found if (verb, code) == ("patch", 201)
    }


def test_every_right_is_used_and_every_use_is_granted(operator, plane, request):
    session = {item.path.name for item in request.session.items}
    if not {"test_control_loop.py", "test_release.py"} <= session:
        pytest.skip("it looks back at what the whole session did: run the folder")
    unused = granted() - used(plane) - set(NOT_USED_HERE)
    assert unused == set(), f"granted and never used: {sorted(unused)}"
    assert used(plane) <= granted()


def test_nothing_was_forbidden_but_in_namespaces_that_were_being_deleted(operator, plane, cluster_kubectl):
    forbidden = [r for r in plane.requests("inferenceversion-operator") if r.code == 403]
    living = cluster_kubectl.run("get", "namespaces", "-o", "name")
    assert [
        r for r in forbidden if f"namespace/{r.namespace}\n" in living and not r.namespace.startswith("test-")
    ] == []
    assert [r for r in forbidden if not r.namespace] == []
