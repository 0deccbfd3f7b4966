"""The errors that the control loop expects; everything else is transient. Imports nothing."""


class Outcome(Exception):
    """Base of the expected outcomes.

    Args:
        reason: CamelCase constant, the condition's ``reason``.
        message: names the object and the field and says what to do next.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Stalled(Outcome):
    """The user has to act; retrying alone won't help, so there is no hot retry."""
