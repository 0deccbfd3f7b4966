"""Labels, annotations and well-known strings, spelled in one place."""

GROUP = "inferenceversion.io"
API_VERSION = f"{GROUP}/v1alpha1"
FIELD_MANAGER = "inferenceversion-operator"

# On every child. NAME is the derived name of the version (names.version_name): it is what selectors use.
LABEL_ENDPOINT = f"{GROUP}/endpoint"
LABEL_NAME = f"{GROUP}/name"
# On every child of a version: the version as a person reads it, made label-safe.
LABEL_VERSION = f"{GROUP}/version"
# On the pod of an endpoint's differ: what its Service selects; the value is names.differ_name.
LABEL_DIFFER = f"{GROUP}/differ"
LABEL_MANAGED_BY = "app.kubernetes.io/managed-by"

# sha256 (16 hex) of what was last applied: tells that a field was removed from the desired object,
# which comparing the desired fields alone cannot see.
ANNOTATION_APPLIED = f"{GROUP}/applied"
# "disabled" on an InferenceVersion lets the admission policy pass the deletion of the serving version.
ANNOTATION_DELETE_PROTECTION = f"{GROUP}/delete-protection"
# On an InferenceEndpoint: "promote 2.4.1" or "abort 2.4.1", what somebody asks of the release that is under way.
ANNOTATION_ACTION = f"{GROUP}/action"

HEADER_VERSION = "x-inference-version"
HEADER_DIGEST = "x-inference-digest"
