"""A page for each public name, written when the site is built.

The pages of docs/reference list the names in their autosummary tables; each name gets a page in
docs/reference/generated.  A class shows tables of its members, and each member below.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Collection
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import rrstats

PUBLIC = {f"rrstats.{name}" for name in rrstats.__all__ if inspect.ismodule(getattr(rrstats, name))}
PUBLIC |= {f"rrstats.engines.{name}" for name in ("dask", "polars", "spark")}
FILES: dict[str, str] = {}
FIRST = (
    *("interval", "conf_int", "to_frame", "interpret", "plot", "mean", "difference"),
    *("proportions", "counts", "low", "high", "std_error", "covariance", "n", "effective_n"),
    *("params", "bse", "pvalues", "epsilon", "prob", "categories", "k", "notes"),
)
"""Members that users type first; the others follow in the order of the source."""
TITLES = {"FrameAccessor": "DataFrame.rr", "SeriesAccessor": "Series.rr"}


def listed(folder: Path) -> dict[str, list[str]]:
    """The names that the pages of the reference list, by page."""
    found = {}
    for page in sorted(folder.glob("*.md")):
        tables = re.findall(
            r"^\.\. autosummary::\n((?: +:.*\n)*)\n((?: +.*\n)+)", page.read_text("utf-8"), re.M
        )
        found[page.stem] = [
            f"rrstats.{line.strip(' ~')}" for _, names in tables for line in names.splitlines()
        ]
    return found


def resolve(name: str) -> tuple[str, Any]:
    """The module of a name, and what it names."""
    module, _, last = name.rpartition(".")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError:  # a class, or a module that lives elsewhere
        module_of, found = resolve(module)
        module = module if inspect.ismodule(found) else module_of
    return module, getattr(found, last)


def members(kind: type) -> tuple[list[str], list[str]]:
    """The public attributes and methods of a class that rrstats itself gives it.

    Those that are used most come first, the others in the order of the source.
    """
    own = [base for base in kind.__mro__ if base.__module__.startswith("rrstats")]
    public: dict[str, Any] = {}
    for base in own:
        for name, member in vars(base).items():
            if name[0] != "_":
                public.setdefault(name, member)
    attributes = [n for n, one in public.items() if isinstance(one, (property, cached_property))]
    if kind.__name__ not in TITLES:  # the accessors' order is that of a user's work
        public = {name: public[name] for name in FIRST if name in public} | public
    attributes = [name for name in public if name in attributes]
    others = [name for name in public if name not in attributes]
    methods = [n for n in others if inspect.isroutine(public[n])]  # also of classes, and static
    return attributes, methods


def heading(text: str) -> str:
    """A title of reStructuredText."""
    return f"{text}\n{'=' * len(text)}\n\n"


def table(title: str, names: list[str]) -> str:
    """A titled table of links to names."""
    rows = "\n".join(f"   {name}" for name in names)
    return (
        f".. rubric:: {title}\n\n.. autosummary::\n   :nosignatures:\n\n{rows}\n\n" if names else ""
    )


def page(name: str, separate: Collection[str] = ()) -> str:
    """The text of the page of one name; members that are separate have pages of their own."""
    module, found = resolve(name)
    inner = name.removeprefix(f"{module}.").split(".")
    words = [TITLES.get(inner[0], inner[0]), *inner[1:]]
    if module in PUBLIC:
        words.insert(0, module.removeprefix("rrstats."))
    top = f"{heading('.'.join(words))}.. currentmodule:: {module}\n\n"
    if module in PUBLIC and getattr(rrstats, inner[0], None) is found:
        return f"{top}``{name}`` is `rrstats.{inner[0]}`.\n"
    if len(inner) > 1:
        kind = "method" if callable(found) else "property"
        return f"{top}.. auto{kind}:: {name}\n"
    if not inspect.isclass(found):
        return (
            f"{top}.. autofunction:: {name}\n"
            if callable(found)
            else f"{top}.. autodata:: {name}\n"
        )
    attributes, methods = members(found)
    text = f"{top}.. autoclass:: {name}\n\n"
    text += table("Methods", [f"~{inner[0]}.{one}" for one in methods])
    text += table("Attributes", [f"~{inner[0]}.{one}" for one in attributes])
    if inner[0] not in TITLES:  # whose methods have pages of their own
        for kind, members_of_kind in (("method", methods), ("property", attributes)):
            described = [f"{name}.{one}" for one in members_of_kind]
            text += "".join(f".. auto{kind}:: {one}\n" for one in described if one not in separate)
    return text


def write(folder: Path) -> None:
    """Write the pages of all names that the reference lists; leave those that are right."""
    if find_spec("pyspark") is None:  # its functions are shown all the same
        from sphinx.ext.autodoc.mock import mock

        with mock(["pyspark"]):
            importlib.import_module("rrstats.engines.spark")
    for name in rrstats.__all__:  # autodoc imports public modules, which may live elsewhere
        if inspect.ismodule(getattr(rrstats, name)):
            sys.modules.setdefault(f"rrstats.{name}", getattr(rrstats, name))
    target = folder / "generated"
    target.mkdir(exist_ok=True)
    names = [name for names in listed(folder).values() for name in names]
    # Estimate and estimate are one file where case does not count.
    FILES.update({name: f"{name}-class" for name in names if name.rpartition(".")[2][0].isupper()})
    wanted = {FILES.get(name, name): page(name, names) for name in names}
    for old in target.glob("*.rst"):
        if old.stem not in wanted:
            old.unlink()
    for stem, text in wanted.items():
        place = target / f"{stem}.rst"
        if not place.exists() or place.read_text("utf-8") != text:
            place.write_text(text, "utf-8")


def link(app: Any, env: Any, node: Any, inner: Any) -> Any:
    """What `name` of a docstring means if only one public name ends so; without the `rr.`."""
    if node.get("refdomain") != "py" or node.get("reftype") != "obj":
        return None
    wanted = node["reftarget"].removeprefix("rr.").removeprefix("rrstats.")
    objects = env.domains["py"].objects
    found = [name for name in objects if name == wanted or name.endswith(f".{wanted}")]
    exact = [name for name in found if name == f"rrstats.{wanted}"] or found
    if len(exact) != 1:
        return None
    return env.domains["py"].resolve_xref(
        env, node["refdoc"], app.builder, "obj", exact[0], node, inner
    )
