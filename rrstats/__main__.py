"""``python -m rrstats`` is the command line."""

import sys

from rrstats.cli import main

if __name__ == "__main__":
    sys.exit(main())
