"""Names that strangers chose: what may become a path below our folder, and what may not."""

from inferenceversion_operator.fetch.errors import FetchError, Reason, invalid, shown

MAX_NAME_BYTES = 255  # what file systems take
MAX_PATH_BYTES = 2048


def safe_path(name: str, max_depth: int) -> str:
    """Return ``name`` as a relative path, ``""`` for the folder itself.

    Case and Unicode form stay as they are: the file system tells them apart, and the hash does too.

    Raises:
        FetchError: the name leads out of the folder, or no file system or ``sha256sum`` line holds it as it is.
    """
    stripped = name
    while stripped.startswith("./"):
        stripped = stripped[2:].lstrip("/")
    stripped = stripped.rstrip("/") if stripped.strip("/") else stripped
    if stripped in ("", "."):
        return ""
    why = _objection(stripped, max_depth)
    if why:
        raise invalid(f"member '{shown(name)}' {why}")
    return stripped


def _objection(path: str, max_depth: int) -> str | None:
    steps = path.split("/")
    objections = (
        (path.startswith("/"), "has an absolute name"),
        (".." in steps, "leads out of its folder (..)"),
        ("" in steps or "." in steps, "has an empty step in its path"),
        ("\\" in path, "has a backslash in its name"),
        (any(ord(char) < 32 or 127 <= ord(char) < 160 for char in path), "has a control character in its name"),
        (any(0xD800 <= ord(char) < 0xE000 for char in path), "has a name that is not UTF-8"),
        (len(steps) > max_depth, f"is deeper than {max_depth} folders"),
    )
    for is_so, why in objections:
        if is_so:
            return why
    if len(path.encode()) > MAX_PATH_BYTES or any(len(step.encode()) > MAX_NAME_BYTES for step in steps):
        return "has a name that is too long"
    return None


def plan_path(text: str, field: str) -> str:
    """Return a path of the plan, ``"."`` for the folder itself."""
    try:
        return safe_path(text, max_depth=64) or "."
    except FetchError as wrong:
        raise FetchError(Reason.PLAN_INVALID, f"{field}: {wrong.message}") from None
