"""Sphinx: the site, whose pages are text notebooks and the docstrings of rrstats.

    python -m sphinx -W --keep-going -b html docs build/site

No network is needed.  rrstats is imported as it is installed, or from PYTHONPATH.
"""

from __future__ import annotations

import base64
import json
import os
import re
import runpy
import shutil
import sys
import zipfile
from importlib.util import find_spec
from pathlib import Path

import rrstats

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS))
import reference_pages  # noqa: E402  # found on the path only after the line above
import study_pages  # noqa: E402  # found on the path only after the line above

NOTEBOOKS = DOCS / "notebooks"

project = "rrstats"
author = "the rrstats founders"
project_copyright = "the rrstats founders, MIT licence"
release = version = rrstats.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx.ext.viewcode",  # the source of each object is a page of the site: no server is needed
    "sphinx-mathjax-offline",  # the pages need no network, and tell nobody that they are read
    "numpydoc",
    "myst_nb",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = [
    *("build", "cards", "client/*", "paper", "vectors", "jupyter_execute", "**/.*", "_*"),
    "studies/table.md",  # docs/studies.md includes it
]

# -- pages ---------------------------------------------------------------------------------

myst_enable_extensions = [
    "amsmath",
    "attrs_block",
    "attrs_inline",
    "colon_fence",
    "deflist",
    "dollarmath",
]
myst_heading_anchors = 3
nb_execution_mode = "auto"  # a notebook with outputs is shown as it is stored
nb_execution_excludepatterns = ["notebooks/*"]
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True
os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
os.environ["PYTHONWARNINGS"] = "default"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"


# The stored notebooks are shown from here, where a link to ../docs/x.md is one to ../x.md.
NOTEBOOKS.mkdir(exist_ok=True)
stored = {path.name: path for path in (DOCS.parent / "notebooks").glob("*.ipynb")}
for copy in NOTEBOOKS.glob("*.ipynb"):
    if copy.name not in stored:
        copy.unlink()
for name, path in stored.items():
    copy, text = NOTEBOOKS / name, path.read_text("utf-8").replace("](../docs/", "](../")
    if not copy.exists() or copy.read_text("utf-8") != text:  # what is unchanged is not read again
        copy.write_text(text, "utf-8")

# The gallery shows their pictures, each named by its notebook and its cell.
(NOTEBOOKS / "pictures").mkdir(exist_ok=True)
for name in stored:
    for cell in json.loads((NOTEBOOKS / name).read_text("utf-8"))["cells"]:
        for out in cell.get("outputs", ()):
            if png := out.get("data", {}).get("image/png"):
                picture = NOTEBOOKS / "pictures" / f"{name[:2]}-{cell['id']}.png"
                picture.write_bytes(base64.b64decode(png))

# -- the reference -------------------------------------------------------------------------

reference_pages.write(DOCS / "reference")
runpy.run_path(str(DOCS / "cards" / "make_cards.py"), run_name="__main__")
study_pages.write(DOCS / "studies")
smartquotes = False  # {"drop", "raise"} is code
default_role = "py:obj"  # `name` in a docstring is a link where there is such a name
nitpicky = True  # and {py:func}`rrstats.name` in a page must be one
nitpick_ignore_regex = [("py:obj", ".*")]
autosummary_generate = False
autosummary_filename_map = reference_pages.FILES
autodoc_typehints = "none"  # numpydoc's sections say the types
autodoc_mock_imports = ["pyspark"] if find_spec("pyspark") is None else []
numpydoc_show_class_members = False
toc_object_entries_show_parents = "hide"

# -- the look ------------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_title = "rrstats"
html_static_path = ["_static"]
html_css_files = ["rrstats.css"]
html_js_files = ["excerpts.js"]
html_search_scorer = str(DOCS / "_static" / "scorer.js")
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "rrstats"},
    "header_links_before_dropdown": 5,
    "navbar_persistent": ["search-button"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# Pages alone in their section have nothing to show at their side.
html_sidebars = {page.stem: [] for page in DOCS.glob("*.md") if page.stem != "gallery"}
html_extra_path = [name for name in ("llms.txt",) if (DOCS / name).exists()]


def add_files(app, _exception=None):
    """Copy what is served as it is, in folders of its own: the client and the printed cards."""
    for folder in ("client", "cards", "vectors"):
        if (DOCS / folder).is_dir() and app.builder.format == "html":
            there, leave = Path(app.outdir) / folder, shutil.ignore_patterns("make_*", "*.md")
            shutil.copytree(DOCS / folder, there, ignore=leave, dirs_exist_ok=True)
    if app.builder.format == "html":  # what playground.md runs
        package = Path(rrstats.__file__).parent
        with zipfile.ZipFile(Path(app.outdir, "_static", "rrstats.zip"), "w", 8) as archive:
            for file in package.rglob("*"):
                if file.is_file() and file.suffix != ".pyc":
                    archive.write(file, Path("rrstats", file.relative_to(package)))


def here(_app, _path, _page, content):
    """Turn the links of what is included from above docs into links within the site."""
    content[0] = content[0].replace("](CHANGELOG.md)", "](docs/changelog.md)")


def back_links(app, pagename, _template, context, _doctree):
    """Let the links of a source page lead to where each object is described.

    viewcode takes all objects of one file for members of one module.  Here rrstats names some of
    them and a public module names others.
    """
    if not pagename.startswith("_modules/"):
        return
    places = {}
    for name, described in app.env.domains["py"].objects.items():
        address = app.builder.get_relative_uri(pagename, described.docname)
        words = name.split(".")
        for start in range(len(words)):
            places[address, ".".join(words[start:])] = described.node_id

    def right(found):
        opening, name, link, address = found.groups()
        return f'{opening}{name}{link}{address}#{places[address, name]}"'

    block = r'(<div class="viewcode-block" id=")([^"]+)'
    back = r'(">\n<a class="viewcode-back" href=")([^"#]+)#[^"]+"'
    context["body"] = re.sub(block + back, right, context["body"])


def setup(app):
    """Connect what Sphinx has no setting for."""
    app.connect("build-finished", add_files)
    app.connect("html-page-context", back_links)
    app.connect("include-read", here)
    app.connect("missing-reference", reference_pages.link)
