"""The command line: whole files from a terminal, and a demonstration on embedded real data.

`main` runs it; `command_line` has the options of all commands, the codes of exit and what is
printed where, `file_commands` what those for files do, and `demo` the demonstration and the tables
of estimates.
"""

from rrstats.cli.command_line import main

__all__ = ["main"]
