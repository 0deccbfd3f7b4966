"""How a command ends: the exit codes, and the mistakes of a user that are told in a line instead of a traceback."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Documented in docs/reference/cli.md; scripts rely on them."""

    OK = 0
    NO = 1  # the answer is no: problems found, not found, refused, not in time
    USAGE = 2  # the command line is wrong, or a file it names can't be read
    CLUSTER = 3  # the cluster can't be asked: unreachable, not allowed, no CRDs, a bad kubeconfig


class UserError(Exception):
    """Something the user can put right; its text says how.

    Args:
        message: what is wrong and what to do, one or a few lines.
        code: the exit code of the command.
    """

    def __init__(self, message: str, code: ExitCode = ExitCode.NO) -> None:
        super().__init__(message)
        self.code = code


class ClusterError(UserError):
    """The cluster can't be asked."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ExitCode.CLUSTER)
