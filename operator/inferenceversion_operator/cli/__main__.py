"""Entry of ``kubectl-iv``, which kubectl runs as ``kubectl iv``."""

from inferenceversion_operator.cli.app import app


def main() -> None:
    """Run the command line; ends by SystemExit with one of ``errors.ExitCode``."""
    app(prog_name="kubectl-iv")


if __name__ == "__main__":
    main()
