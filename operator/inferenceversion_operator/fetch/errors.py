"""What can go wrong, as the reasons of the contract; ``classify`` is the one place that turns errors into them."""

import errno
import traceback
from enum import StrEnum


class Reason(StrEnum):
    VERIFIED = "Verified"
    WEIGHT_HASH_DIFFERS = "WeightHashDiffers"
    PREPROCESSOR_HASH_DIFFERS = "PreprocessorHashDiffers"
    POSTPROCESSOR_HASH_DIFFERS = "PostprocessorHashDiffers"
    SOURCE_NOT_FOUND = "SourceNotFound"
    SOURCE_FORBIDDEN = "SourceForbidden"
    SOURCE_UNREACHABLE = "SourceUnreachable"
    SOURCE_INVALID = "SourceInvalid"
    SOURCE_TOO_LARGE = "SourceTooLarge"
    PLAN_INVALID = "PlanInvalid"


class FetchError(Exception):
    """An expected end that is not success.

    Args:
        reason: goes into the condition.
        message: names what is wrong and where; holds no secret.
        transient: trying again may help; otherwise the user has to act.
        expected: the hash that was asked for, where hashes differ.
        got: the hash that was found.
    """

    def __init__(
        self,
        reason: Reason,
        message: str,
        *,
        transient: bool = False,
        expected: str | None = None,
        got: str | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.transient = transient
        self.expected = expected
        self.got = got


class BrokenError(Exception):
    """A connection failed in a way that trying again, from where it broke, may mend.

    Args:
        why: said to the user when no further try is made.
        retry_after: seconds the server asked for.
    """

    def __init__(self, why: str, retry_after: float = 0) -> None:
        super().__init__(why)
        self.why = why
        self.retry_after = retry_after


def invalid(message: str) -> FetchError:
    return FetchError(Reason.SOURCE_INVALID, message)


def too_large(message: str) -> FetchError:
    return FetchError(Reason.SOURCE_TOO_LARGE, message)


def shown(name: str) -> str:
    """Return a name that a stranger chose so that it can stand in one line of a message."""
    text = ascii(name)[1:-1]
    return text if len(text) <= 160 else f"{text[:120]}...({len(name)} characters)"


def without_secrets(url: str) -> str:
    """Return the URL without query, fragment and user: presigned URLs carry their secret in the query."""
    bare = url.partition("#")[0].partition("?")[0]
    scheme, separator, rest = bare.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{separator}{host.rpartition('@')[2]}{slash}{path}"


def classify(error: BaseException) -> FetchError:
    """Return what ``error`` means to the user."""
    if isinstance(error, FetchError):
        return error
    if isinstance(error, BrokenError):
        return FetchError(Reason.SOURCE_UNREACHABLE, error.why, transient=True)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return too_large("no space is left on the volume of the models: it needs room for the whole source")
    if isinstance(error, MemoryError):
        return too_large("the source needs more memory to unpack than the fetch container has")
    # Not foreseen: say where, never the text of the error, which may quote a URL or a header.
    frame = traceback.extract_tb(error.__traceback__)[-1:]
    where = f" at {frame[0].filename.rpartition('/')[2]}:{frame[0].lineno}" if frame else ""
    number = f" {errno.errorcode.get(error.errno or 0, '')}" if isinstance(error, OSError) else ""
    return FetchError(
        Reason.SOURCE_UNREACHABLE, f"unexpected {type(error).__name__}{number}{where}; trying again", transient=True
    )
