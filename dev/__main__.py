"""Entry point of ``python -m dev``."""

import sys

from dev.cli import main

sys.exit(main())
