"""The command line: whole files from a terminal, and a demonstration on embedded real data.

`main` runs it; `command_line` holds the parser and the codes of exit, `arguments` what several
commands take, `privatize_command` and `report_commands` the commands for files, `demo` the
demonstration, `progress` the line that shows how far a run has come.
"""

from rrstats.cli.command_line import main

__all__ = ["main"]
