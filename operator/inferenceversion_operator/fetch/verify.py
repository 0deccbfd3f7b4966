"""The hashes that the plan asks for against those of the files that came."""

from collections.abc import Mapping

from inferenceversion_operator.api.content_hash import PREFIX, hash_manifest, subtree, without
from inferenceversion_operator.fetch.errors import FetchError, Reason, invalid, without_secrets
from inferenceversion_operator.fetch.plan import Part, Plan

_PART_REASONS = {
    "preprocessor": Reason.PREPROCESSOR_HASH_DIFFERS,
    "postprocessor": Reason.POSTPROCESSOR_HASH_DIFFERS,
}


def verify(plan: Plan, files: Mapping[str, str], *, single: bool) -> None:
    """Check that every file is under a hash that the plan has.

    Args:
        plan: has the hashes.
        files: path -> hex sha256.
        single: the source is one file, so that ``weightHash`` is that file's own.

    Raises:
        FetchError: names the field, what was expected, what came and from where.
    """
    where = without_secrets(plan.source)
    if single and not plan.parts:
        (digest,) = files.values()
        _compare("model.weightHash", Reason.WEIGHT_HASH_DIFFERS, plan.weight_hash, PREFIX + digest, where)
        return
    parts = {part: _part_hash(part, files, where) for part in plan.parts}
    weights = hash_manifest(without(files, (part.path for part in plan.parts)))
    _compare("model.weightHash", Reason.WEIGHT_HASH_DIFFERS, plan.weight_hash, weights, where)
    for part, got in parts.items():
        _compare(f"{part.name}.configHash", _PART_REASONS[part.name], part.hash, got, f"{where} ({part.path})")


def _part_hash(part: Part, files: Mapping[str, str], where: str) -> str:
    if part.path in files:
        return PREFIX + files[part.path]
    below = subtree(files, part.path)
    if not below:
        raise invalid(f"{part.name}.path: there is no {part.path} in {where}")
    return hash_manifest(below)


def _compare(field: str, reason: Reason, expected: str, got: str, where: str) -> None:
    if expected != got:
        raise FetchError(reason, f"{field}: expected {expected}, got {got} from {where}", expected=expected, got=got)
