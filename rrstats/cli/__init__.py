"""The command line: whole files from a terminal, and a demonstration on embedded real data.

`main` runs it; `command_line` holds the parser and the codes of exit, `arguments` what several
commands take, `commands` the options of those for files and `file_commands` what they do, `demo`
the demonstration, `share_tables` the tables, `progress` the line that shows how far a run has come.
"""

from rrstats.cli.command_line import main

__all__ = ["main"]
