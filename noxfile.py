#!/usr/bin/env -S uv run --script
# /// script
# dependencies = ["nox"]
# ///
"""Tasks of development, each in an environment of its own: `nox -l` lists them.

`nox` alone runs `lint` and `tests`; `.ci/run` does all of this and more.
"""

import shutil
from pathlib import Path

import nox

nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv|virtualenv"

GROUPS = nox.project.load_toml("pyproject.toml")


def install(session: nox.Session, extras: str, *groups: str) -> None:
    """Install the package with some of its extras, and the tools of some groups."""
    session.install("-e", f".[{extras}]", *nox.project.dependency_groups(GROUPS, *groups))


@nox.session
def lint(session: nox.Session) -> None:
    """Check style, layers and types."""
    install(session, "test,polars,dask", "dev")
    session.run("ruff", "check", ".")
    session.run("ruff", "format", "--check", ".")
    session.run("lint-imports")
    session.run("mypy")


@nox.session
def tests(session: nox.Session) -> None:
    """Run the quick tests; `nox -s tests -- -m slow` runs the others."""
    install(session, "test")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session(default=False)
def docs(session: nox.Session) -> None:
    """Build the site into build/site."""
    install(session, "test,notebook,polars,dask", "docs")
    session.run("sphinx-build", "-W", "--keep-going", "-b", "html", "docs", "build/site")


@nox.session(default=False)
def notebooks(session: nox.Session) -> None:
    """Run the notebooks; they stay as they are."""
    install(session, "notebook,polars,dask,spark")
    session.run("jupyter", "execute", *map(str, sorted(Path("notebooks").glob("*.ipynb"))))


@nox.session(default=False)
def benchmarks(session: nox.Session) -> None:
    """Measure beside OpenDP and the research libraries; `-- --quick` for a look."""
    install(session, "files,polars,dask", "rivals")
    session.run("python", "-m", "benchmarks", *session.posargs)


@nox.session(default=False)
def mutants(session: nox.Session) -> None:
    """Change a room's code and run its tests: `nox -s mutants -- randomness`; an hour a room."""
    install(session, "test", "mutants")
    session.run("python", "tests/mutants.py", *session.posargs)


@nox.session(default=False)
def build(session: nox.Session) -> None:
    """Build the source distribution and the wheel from it into dist/, check and install both."""
    session.install("build", "twine")
    shutil.rmtree("dist", ignore_errors=True)
    session.run("python", "-m", "build")
    built = sorted(map(str, Path("dist").iterdir()))
    session.run("twine", "check", "--strict", *built)
    for file in built:
        session.install("--force-reinstall", file)
        session.run("python", "-P", "-m", "rrstats", "demo", silent=True)


if __name__ == "__main__":
    nox.main()
