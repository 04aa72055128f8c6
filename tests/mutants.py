"""Do a room's own tests hold it? `python tests/mutants.py ROOM`, by hand, with the group `mutants`.

A mutant is the package with one operator, comparison or constant changed.  A sample of a room's
mutants is drawn, the room's tests are run on each of them in a copy of the project, and the
changes that no test noticed are printed.  `[tool.mutants]` in pyproject.toml says which changes;
docs/validation.md has the figures, and the kinds of changes that change nothing.
"""

import argparse
import ast
import os
import random
import re
import shutil
import tempfile
import tomllib
from collections import defaultdict
from pathlib import Path

from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import mutate_and_test
from cosmic_ray.plugins import get_operator, operator_names
from cosmic_ray.work_item import MutationSpec

PROJECT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["mutants"]


def annotations(source):
    """Spans of annotations: `int | None` computes nothing that a test could miss."""
    nodes = [
        annotation
        for node in ast.walk(ast.parse(source))
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None))
        if annotation is not None
    ]
    return [((n.lineno, n.col_offset), (n.end_lineno, n.end_col_offset)) for n in nodes]


def mutations(module):
    """The possible changes of a module, by place."""
    spans = annotations(module.read_text())
    nodes = list(ast_nodes(get_ast_from_path(module)))
    places = defaultdict(list)
    for name in filter(re.compile("|".join(SETTINGS["operators"])).fullmatch, operator_names()):
        operator = get_operator(name)()
        positions = [place for node in nodes for place in operator.mutation_positions(node)]
        for occurrence, (start, end) in enumerate(positions):
            if not any(first <= start < last for first, last in spans):
                change = MutationSpec(module, name, occurrence, start, end)
                places[module, start].append(change)
    return places


def sample(room, size, seed):
    """Changes at `size` places of a room, each place equally likely, one change a place."""
    folder = Path("rrstats", room)
    modules = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    places = {place: changes for module in modules for place, changes in mutations(module).items()}
    draw = random.Random(seed)
    chosen = draw.sample(sorted(places), min(size, len(places)))
    return [draw.choice(places[place]) for place in sorted(chosen)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("room", help="a room of rrstats, whose tests are tests/ROOM")
    parser.add_argument("--size", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(PROJECT, copy, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".*"))
        os.chdir(copy)
        os.environ["PYTHONPATH"] = copy
        command = SETTINGS["test-command"].format(room=options.room)
        if mutate_and_test([], command, SETTINGS["timeout"]).is_killed:
            raise SystemExit(f"`{command}` fails without a change")
        changes = sample(options.room, options.size, options.seed)
        killed = 0
        for change in changes:
            result = mutate_and_test([change], command, SETTINGS["timeout"])
            killed += result.is_killed
            if not result.is_killed:
                print(result.diff, flush=True)
    print(f"{options.room}: {killed} of {len(changes)} killed (seed {options.seed})")


if __name__ == "__main__":
    main()
