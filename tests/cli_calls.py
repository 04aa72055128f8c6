"""The command line in this process and in others, as tests call it."""

import subprocess
import sys

from rrstats import cli


def call(capsys, *arguments):
    """Exit code, what stdout got, and what stderr got."""
    try:
        code = cli.main([str(argument) for argument in arguments])
    except SystemExit as stop:  # argparse leaves this way
        code = stop.code
    printed = capsys.readouterr()
    return code, printed.out, printed.err


def done(capsys, *arguments):
    """What a command printed that must succeed."""
    code, out, err = call(capsys, *arguments)
    assert 0 == code, err
    return out


def refused(capsys, *arguments):
    """Exit code and the one line of a command that must fail."""
    code, out, err = call(capsys, *arguments)
    assert ("", 1) == (out, err.count("\n")), err
    assert err.startswith("rrstats")
    return code, err


def run(*arguments, **options):
    """Python in a process of its own."""
    told = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "check": False}
    return subprocess.run([sys.executable, *map(str, arguments)], **{**told, **options})
