"""The command line: whole files from a terminal, and a demonstration on embedded real data.

`main` runs it.  `command_line` defines the options of all commands, the exit codes and the output
streams; `file_commands` has the commands for files, `studies` the book of studies; `demo` has the
demonstration and the tables of estimates.
"""

from rrstats.cli.command_line import main

__all__ = ["main"]
