"""``python -m benchmarks``: all questions, one table."""

import sys

from benchmarks.running import main

sys.exit(main())
