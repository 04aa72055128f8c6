"""The command line: whole files from a terminal, and a demonstration on embedded real data.

`main` runs it; `command_line` holds the codes of exit and what is printed where, `arguments` the
options of all commands, `file_commands` what those for files do, `demo` the demonstration, and
`share_tables` the tables of both.
"""

from rrstats.cli.command_line import main

__all__ = ["main"]
