"""The only file of the command line that talks to a cluster: reads, dry runs, and a merge patch of one endpoint."""

import importlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from inferenceversion_operator.adapters.kube.resources import MANAGED, Resource
from inferenceversion_operator.api.labels import API_VERSION, GROUP
from inferenceversion_operator.cli.errors import ClusterError, UserError

Object = Mapping[str, Any]
FIELD_MANAGER = "kubectl-iv"
_VERSION = API_VERSION.rpartition("/")[2]
_ENDPOINTS, _VERSIONS = "inferenceendpoints", "inferenceversions"
PLURALS = {"InferenceEndpoint": _ENDPOINTS, "InferenceVersion": _VERSIONS}
_CORE = {"ConfigMap": "list_namespaced_config_map", "Service": "list_namespaced_service", "Pod": "list_namespaced_pod"}
_TIMEOUT_S = (5, 30)  # to connect, to answer
_CONNECTION = re.compile(r"^<?\w*Connection\w*\(.*?\)[^:]*: ")  # urllib3 begins with the object that failed
_MERGE_PATCH = "application/merge-patch+json"
_APPLY_PATCH = "application/apply-patch+yaml"


@dataclass(frozen=True, slots=True)
class Target:
    """Which cluster and namespace a command is about."""

    namespace: str | None = None
    context: str | None = None
    kubeconfig: Path | None = None


class NotFoundError(UserError):
    """There is no such object."""


class NotServedError(ClusterError):
    """The cluster does not know the kind."""


class NotAllowedError(ClusterError):
    """This user may not do it."""


class Cluster:
    """A cluster, and the namespace that a command is about."""

    def __init__(self, api: Any, server: str, namespace: str) -> None:
        self.namespace = namespace
        self._api = api
        self._server = server

    def endpoints(self, namespace: str | None) -> list[Object]:
        """List the endpoints of a namespace; None: of all."""
        return self._list(_ENDPOINTS, namespace)

    def versions(self, namespace: str | None) -> list[Object]:
        """List the versions of a namespace; None: of all."""
        return self._list(_VERSIONS, namespace)

    def versions_of(self, endpoint: str) -> list[Object]:
        """List the versions of one endpoint."""
        return [v for v in self.versions(self.namespace) if (v.get("spec") or {}).get("endpoint") == endpoint]

    def endpoint(self, name: str) -> Object:
        """Get an endpoint.

        Raises:
            UserError: there is none of this name; the message has those that there are.
        """
        return self._get(_ENDPOINTS, "InferenceEndpoint", name)

    def version(self, name: str) -> Object:
        """Get an InferenceVersion by its name.

        Raises:
            UserError: there is none of this name; the message has those that there are.
        """
        return self._get(_VERSIONS, "InferenceVersion", name)

    def patch_endpoint(self, name: str, patch: Object) -> Object:
        """Change an endpoint by a merge patch and return it as it is then.

        Raises:
            UserError: the API server refuses the change.
        """
        patched: Object = self._ask(
            lambda: self._api.patch_namespaced_custom_object(
                GROUP,
                _VERSION,
                self.namespace,
                _ENDPOINTS,
                name,
                dict(patch),
                field_manager=FIELD_MANAGER,
                _content_type=_MERGE_PATCH,
                _request_timeout=_TIMEOUT_S,
            )
        )
        return patched

    def find(self, kind: str, namespace: str, name: str) -> Object | None:
        """Get an object of ours; None: there is none."""
        try:
            return self._object(PLURALS[kind], name, namespace)
        except NotFoundError:
            return None

    def dry_run(self, manifest: Object, field_manager: str) -> Object:
        """Return what the API server would store of a manifest, admission included; nothing is stored.

        Raises:
            NotAllowedError: this user may not ask.
            UserError: it would be refused.
        """
        metadata = manifest["metadata"]
        stored: Object = self._ask(
            lambda: self._api.patch_namespaced_custom_object(
                GROUP,
                _VERSION,
                metadata["namespace"],
                PLURALS[manifest["kind"]],
                metadata["name"],
                dict(manifest),
                dry_run="All",
                field_manager=field_manager,
                force=True,
                _content_type=_APPLY_PATCH,
                _request_timeout=_TIMEOUT_S,
            )
        )
        return stored

    def children(self, resource: Resource, namespace: str) -> list[Object] | None:
        """List what the operator made of one kind; None where the cluster does not serve it.

        Raises:
            NotAllowedError: this user may not see them.
        """
        from kubernetes.client import CoreV1Api  # noqa: PLC0415 - as in connect

        group, _, version = resource.api_version.rpartition("/")
        options = {"label_selector": MANAGED, "_request_timeout": _TIMEOUT_S}
        if group:
            answer = self._ask_or_none(
                lambda: self._api.list_namespaced_custom_object(group, version, namespace, resource.plural, **options)
            )
        else:
            api, method = CoreV1Api(self._api.api_client), _CORE[resource.kind]
            raw = self._ask(lambda: getattr(api, method)(namespace, _preload_content=False, **options))
            answer = json.loads(raw.data)
        if answer is None:
            return None
        named = {"apiVersion": resource.api_version, "kind": resource.kind}  # a list leaves them out
        return [{**named, **obj} for obj in answer["items"]]

    def whoami(self) -> str | None:
        """Return who the API server takes the caller for; None where it does not say."""
        from kubernetes.client import AuthenticationV1Api  # noqa: PLC0415 - as in connect

        body: Any = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
        api = AuthenticationV1Api(self._api.api_client)
        try:
            review = self._ask(lambda: api.create_self_subject_review(body, _request_timeout=_TIMEOUT_S))
        except UserError:
            return None
        return str(review.status.user_info.username) or None

    def _ask_or_none(self, question: Callable[[], Any]) -> Any:
        try:
            return self._ask(question)
        except (NotFoundError, NotServedError):
            return None

    def _object(self, plural: str, name: str, namespace: str) -> Object:
        found: Object = self._ask(
            lambda: self._api.get_namespaced_custom_object(
                GROUP, _VERSION, namespace, plural, name, _request_timeout=_TIMEOUT_S
            )
        )
        return found

    def _list(self, plural: str, namespace: str | None) -> list[Object]:
        if namespace is None:
            answer = self._ask(
                lambda: self._api.list_cluster_custom_object(GROUP, _VERSION, plural, _request_timeout=_TIMEOUT_S)
            )
        else:
            answer = self._ask(
                lambda: self._api.list_namespaced_custom_object(
                    GROUP, _VERSION, namespace, plural, _request_timeout=_TIMEOUT_S
                )
            )
        return list(answer["items"])

    def _get(self, plural: str, kind: str, name: str) -> Object:
        try:
            return self._object(plural, name, self.namespace)
        except NotFoundError:
            names = [obj["metadata"]["name"] for obj in self._list(plural, self.namespace)]
            known = ", ".join(names) or "none"
            elsewhere = "" if names else "; kubectl iv status -A shows every namespace"
            message = f"no {kind} {name} in namespace {self.namespace} (there are: {known}){elsewhere}"
            raise UserError(message) from None

    def _ask(self, question: Callable[[], Any]) -> Any:
        from kubernetes.client.exceptions import ApiException  # noqa: PLC0415 - as in connect
        from urllib3.exceptions import HTTPError  # noqa: PLC0415

        try:
            return question()
        except ApiException as error:
            raise _refusal(error, self._server) from error
        except HTTPError as error:
            raise ClusterError(f"cluster {self._server} can't be reached: {_cause(error)}") from error


def connect(target: Target) -> Cluster:
    """Read the kubeconfig; nothing is asked yet.

    Raises:
        ClusterError: there is no usable kubeconfig, or no such context.
    """
    # Offline commands and completion don't wait for these imports.
    import urllib3  # noqa: PLC0415
    from kubernetes import client  # noqa: PLC0415

    config: Any = importlib.import_module("kubernetes.config")  # untyped

    configuration = client.Configuration()
    configuration.retries = False
    default = Path.home() / ".kube" / "config"
    path = str(target.kubeconfig or os.environ.get("KUBECONFIG") or default)
    try:
        if path == str(default) and not default.exists() and "KUBERNETES_SERVICE_HOST" in os.environ:
            config.load_incluster_config(client_configuration=configuration)
            namespace = _pod_namespace()
        else:
            config.load_kube_config(path, target.context, client_configuration=configuration, persist_config=False)
            namespace = _context_namespace(config, path, target.context)
    except config.ConfigException as error:
        hint = "set KUBECONFIG, or use --kubeconfig and --context"
        raise ClusterError(f"no way to the cluster: {error}: {hint}") from error
    except (OSError, ValueError, TypeError, yaml.YAMLError) as error:
        raise ClusterError(f"kubeconfig {path}: {' '.join(str(error).split())}") from error
    if not configuration.verify_ssl:  # whoever wrote the kubeconfig knows
        urllib3.disable_warnings(urllib3.exceptions.InsecureRequestWarning)
    api = client.CustomObjectsApi(client.ApiClient(configuration))
    return Cluster(api, configuration.host, target.namespace or namespace)


def _pod_namespace() -> str:
    return Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace").read_text("utf-8").strip()


def _context_namespace(config: Any, path: str, name: str | None) -> str:
    contexts, current = config.list_kube_config_contexts(path)
    chosen = next((context for context in contexts if context["name"] == name), current)
    return str((chosen.get("context") or {}).get("namespace") or "default")


def _refusal(error: Any, server: str) -> UserError:
    """Turn what the API server answered into what the user can do."""
    said = _message(error)
    if error.status == 404 and "page not found" in said:
        return NotServedError(f"cluster {server} does not serve {API_VERSION}: install the CRDs (crds/) first")
    if error.status == 404:
        return NotFoundError(said)
    if error.status in (400, 409, 422):
        return UserError(f"the API server refuses: {said}")
    kind = NotAllowedError if error.status == 403 else ClusterError
    return kind(f"cluster {server}: {error.status} {error.reason}: {said}")


def _message(error: Any) -> str:
    try:
        told = json.loads(error.body or "")
    except ValueError:
        return str(error.body or error.reason).strip()
    return str(told.get("message") or error.reason) if isinstance(told, dict) else str(error.reason)


def _cause(error: BaseException) -> str:
    """Return the innermost reason: urllib3 wraps it in the URL and the pool."""
    reason = getattr(error, "reason", None)
    return _cause(reason) if isinstance(reason, BaseException) else _CONNECTION.sub("", " ".join(str(error).split()))
