"""How a source gets into the pod: volumes, mounts and the stage container, by scheme."""

from inferenceversion_operator.api.types import InferenceVersion
from inferenceversion_operator.core.objects.common import Object

SOURCE_MOUNT = "/source"
_MOUNTED = ("image", "pvc", "oci")


def is_mounted(version: InferenceVersion) -> bool:
    """Say whether the source is a volume of the pod; every other one is downloaded by fetch."""
    return _split(version)[0] in _MOUNTED


def source_volume(version: InferenceVersion) -> list[Object]:
    """Return the volume of a source that is mounted; nothing for one that fetch downloads."""
    scheme, rest = _split(version)
    if scheme == "image":
        return [{"name": "source", "emptyDir": {}}]
    if scheme == "pvc":
        return [{"name": "source", "persistentVolumeClaim": {"claimName": rest.partition("/")[0], "readOnly": True}}]
    if scheme == "oci":
        return [{"name": "source", "image": {"reference": rest, "pullPolicy": "IfNotPresent"}}]
    return []


def source_mount(version: InferenceVersion) -> list[Object]:
    """Return fetch's mount of the source."""
    if not is_mounted(version):
        return []
    scheme, rest = _split(version)
    path = {"image": "source", "pvc": rest.partition("/")[2].strip("/")}.get(scheme, "")
    mount: Object = {"name": "source", "mountPath": SOURCE_MOUNT, "readOnly": True}
    return [mount | ({"subPath": path} if path else {})]


def stage_container(version: InferenceVersion, security: Object) -> list[Object]:
    """Return the init container that copies an ``image://`` source out of the runtime image."""
    scheme, path = _split(version)
    if scheme != "image":
        return []
    return [
        {
            "name": "stage",
            "image": version.runtime.image,
            "imagePullPolicy": "IfNotPresent",
            # -T: a folder and a single file both arrive as "source"; -L: what links point at, so that it is hashed.
            # The kubelet makes "$" of "$$" in a command.
            "command": ["cp", "-rLT", "--", f"/{path.strip('/')}".replace("$", "$$"), "/staging/source"],
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
            "securityContext": security,
            "terminationMessagePolicy": "FallbackToLogsOnError",
            "volumeMounts": [{"name": "source", "mountPath": "/staging"}],
        }
    ]


def _split(version: InferenceVersion) -> tuple[str, str]:
    scheme, _, rest = version.model.source.partition("://")
    return scheme, rest
