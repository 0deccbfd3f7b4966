"""Entry of ``kubectl-iv``, which kubectl runs as ``kubectl iv``."""

import sys


def main() -> None:
    """Run the command line; ends by SystemExit with one of ``errors.ExitCode``."""
    try:
        from inferenceversion_operator.cli.app import app  # noqa: PLC0415 - may be missing
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("inferenceversion_operator"):
            raise
        print(f"{error.name} is not installed: pip install 'inferenceversion-operator[cli]'", file=sys.stderr)
        sys.exit(2)
    app(prog_name="kubectl-iv")


if __name__ == "__main__":
    main()
