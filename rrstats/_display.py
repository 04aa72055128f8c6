"""Output texts: labels, percentages, tables, and pages of plain blocks.

`label` formats a name or category, `chance` and `percent` format a number, `columns` a table for a
terminal, and `SummaryTable` a table for a terminal, a notebook or LaTeX.  A page is a sequence of
blocks; it is written as Markdown, as self-contained HTML, or for a terminal.
A block is a kind and its content: a "title", "heading", "column", "text", "warning", "code" or
"cut" (a line along which to cut the page) holds text, a "list" and (numbered) "steps" hold texts,
a "table" a header and rows.  Blocks hold names and categories unescaped; each writer escapes
everything that could be markup.  `Text` is a page that public functions return.
"""

from __future__ import annotations

import html
import math
import re
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
import pandas as pd

from rrstats._checks import check_ending
from rrstats._names import MissingMembers, checked_keywords
from rrstats._typing import FilePath

Block = tuple[str, Any]

TextTable: TypeAlias = tuple[list[str], list[list[str]]]
"""The header of a table and its rows, as text."""

HeaderLines: TypeAlias = Sequence[tuple[str, str]]
"""Lines above the table of a result: a name and a text each."""

Notes: TypeAlias = tuple[str, ...]
"""Sentences that a reader of a result must know."""

CellFormats: TypeAlias = Mapping[str, Callable[[Any], str]]
"""Functions that write the cells of a column, by its name."""

WIDTH = 80


# -- words ---------------------------------------------------------------------------------


def label(value: Hashable) -> str:
    r"""A category or a name as text, without control characters for a terminal or a page.

    >>> label("often"), label(None), label("a\x1b[2J"), label("")
    ('often', '(no answer)', 'a\\x1b[2J', "''")
    """
    if value is None:
        return "(no answer)"
    if isinstance(value, str) and not value.strip():
        return repr(value)
    text = value if isinstance(value, str) else _plain(value)
    # Joiners are part of the spelling of some languages and are harmless.
    return "".join(c if c.isprintable() or c in "\u200c\u200d" else ascii(c)[1:-1] for c in text)


def _plain(value: object) -> str:
    return repr(value) if isinstance(value, bytes | tuple) else str(value)


def counted(number: int, noun: str) -> str:
    """A number of things in words.

    >>> counted(1, "row"), counted(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def chance(prob: float) -> str:
    """A probability in percent, with enough digits to distinguish it from 0 and 1.

    >>> chance(0.75), chance(1 / 3), chance(0.99999)
    ('75%', '33.33%', '99.999%')
    """
    tolerance = max(0.001 * min(prob, 1 - prob), 1e-17)
    for digits in range(4, 18):
        text = f"{prob * 100:.{digits}g}"
        if abs(float(text) / 100 - prob) <= tolerance:
            return f"{text}%"
    return f"{prob * 100}%"


def percent(proportion: float) -> str:
    """A proportion in percent as tables show it: powers of ten from 1e6% on, a dash for NaN.

    >>> percent(0.1234), percent(-0.5), percent(-1e-9), percent(float("nan"))
    ('12.34%', '-50.00%', '0.00%', '-')
    """
    if math.isnan(proportion):
        return "-"
    return f"{proportion:z.2%}" if abs(proportion) < 1e4 else f"{proportion * 100:.1e}%"


def percent_range(low: float, high: float) -> str:
    """Both ends in percent, rounded to two digits of their distance, as tables round them.

    >>> percent_range(0.3937, 0.4793), percent_range(-0.0001, 0.2)
    ('39.4% to 47.9%', '0.0% to 20.0%')
    """
    width = (high - low) * 100
    decimals = 1 if width <= 0 else int(np.clip(1 - np.floor(np.log10(width)), 1, 9))
    return f"{low:z.{decimals}%} to {high:z.{decimals}%}"


# -- Markdown ------------------------------------------------------------------------------

_MARKUP = re.compile(r"([\\`*_\[\]<>#|~$&])")
_AT_START = re.compile(r"^(\s*)([-+=]|\d+[.)])(?=\s|$)")


def _escaped(text: str) -> str:
    """Text on one line with all markup escaped."""
    text = _MARKUP.sub(r"\\\1", " ".join(text.splitlines()))
    return _AT_START.sub(lambda m: f"{m[1]}{m[2][:-1]}\\{m[2][-1]}", text)


def _fenced(code: str) -> str:
    longest = max((len(run) for run in re.findall("`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{code}\n{fence}"


def as_markdown(blocks: Iterable[Block]) -> str:
    r"""The page as Markdown (CommonMark with tables).

    >>> print(as_markdown([("title", "Odd *names*"), ("list", ["a|b"])]), end="")
    # Odd \*names\*
    <BLANKLINE>
    - a\|b
    """
    return "\n\n".join(_markdown_block(kind, content) for kind, content in blocks) + "\n"


def _markdown_block(kind: str, content: Any) -> str:
    if kind == "table":
        header, rows = content
        rule = ["---" for _ in header]
        head, *body = ([_escaped(cell) for cell in line] for line in (header, *rows))
        return "\n".join(f"| {' | '.join(line)} |" for line in (head, rule, *body))
    if kind in ("list", "steps"):
        mark = "-" if kind == "list" else "1."
        return "\n".join(f"{mark} {_escaped(item)}" for item in content)
    if kind == "code":
        return _fenced(content)
    if kind == "warning":
        return f"> **{_escaped(content)}**"
    if kind == "cut":
        return f"---\n\n{_escaped(content)}"
    start = {"title": "# ", "heading": "## ", "column": "### ", "text": ""}[kind]
    return f"{start}{_escaped(content)}"


# -- HTML ----------------------------------------------------------------------------------

_STYLE = """
body { font: 17px/1.55 system-ui, sans-serif; color: #1c1c1c; background: #fff;
       max-width: 46rem; margin: 2.5rem auto; padding: 0 1.25rem; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.25; } h2 { font-size: 1.25rem; margin-top: 2.2rem; }
h3 { font-size: 1.05rem; margin-top: 1.6rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { text-align: left; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid #ccc;
         vertical-align: top; }
pre { background: #f4f4f4; padding: .8rem 1rem; overflow-x: auto; font-size: .85rem;
      white-space: pre-wrap; }
.cut { border: 0; border-top: 2px dashed #767676; margin: 2rem 0 .5rem; }
.warning { border: 3px solid #b00020; color: #b00020; padding: .8rem 1rem; font-weight: bold; }
@media print { body { margin: 0; max-width: none; font-size: 11pt; line-height: 1.4; }
               h2 { margin-top: 1.2rem; } .cut { break-after: page; border: 0; margin: 0; } }
"""


def as_html(blocks: Iterable[Block]) -> str:
    """The page as one HTML file that loads no resources and runs no scripts.

    >>> "<h1>a &lt;b&gt;</h1>" in as_html([("title", "a <b>")])
    True
    """
    listed = list(blocks)
    title = next((content for kind, content in listed if kind == "title"), "")
    body = "\n".join(_html_block(kind, content) for kind, content in listed)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta http-equiv="Content-Security-Policy" '
        "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def as_fragment(blocks: Iterable[Block]) -> str:
    """Blocks as an HTML fragment for a notebook."""
    return "\n".join(_html_block(kind, content) for kind, content in blocks)


def _html_block(kind: str, content: Any) -> str:
    if kind == "table":
        header, rows = content
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in header)
        lines = ("".join(f"<td>{html.escape(cell)}</td>" for cell in row) for row in rows)
        body = "\n".join(f"<tr>{line}</tr>" for line in lines)
        return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>"
    if kind in ("list", "steps"):
        items = "\n".join(f"<li>{html.escape(item)}</li>" for item in content)
        list_tag = "ul" if kind == "list" else "ol"
        return f"<{list_tag}>\n{items}\n</{list_tag}>"
    text = html.escape(content)
    if kind == "code":
        return f"<pre><code>{text}</code></pre>"
    if kind == "warning":
        return f'<p class="warning">{text}</p>'
    if kind == "cut":
        return f'<hr class="cut">\n<p><small>{text}</small></p>'
    tag = {"title": "h1", "heading": "h2", "column": "h3", "text": "p"}[kind]
    return f"<{tag}>{text}</{tag}>"


# -- a terminal ----------------------------------------------------------------------------


def wrap(text: str, *, indent: int = 0) -> str:
    """Text wrapped to the width of a terminal; lines after the first are indented."""
    return textwrap.fill(
        text,
        WIDTH,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def columns(rows: Sequence[Sequence[str]], *, left: int = 1) -> str:
    """Rows of cells in aligned columns; the first ``left`` are left-aligned, the others right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if place < left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(["", *cells]).rstrip())
    return "\n".join(lines)


def as_text(blocks: Iterable[Block]) -> str:
    """The page as plain text for a terminal."""
    return "\n\n".join(_text_block(kind, content) for kind, content in blocks) + "\n"


def _text_block(kind: str, content: Any) -> str:
    if kind == "table":
        header, rows = content
        return columns([header, *rows])
    if kind in ("list", "steps"):
        items = [
            f"{number}. {item}" if kind == "steps" else f"- {item}"
            for number, item in enumerate(content, start=1)
        ]
        return "\n".join(map(wrap, items))
    if kind == "cut":
        return f"{'- ' * (WIDTH // 2)}".rstrip() + f"\n{wrap(content)}"
    return str(content) if kind == "code" else wrap(content)


# -- a text of several blocks ----------------------------------------------------------------

PAGE_WRITERS: dict[str, Callable[[Iterable[Block]], str]] = {
    ".md": as_markdown,
    ".markdown": as_markdown,
    ".html": as_html,
    ".htm": as_html,
    ".txt": as_text,
}
"""The writer of a page by the ending of its file."""


@checked_keywords
class Text(str):
    """A text of this package: a ``str`` that prints as it reads, and that is saved as a page.

    A notebook shows it as a page.

    Attributes
    ----------
    blocks : sequence of (str, object)
        The kind and the content of each part: a heading, a paragraph, a list, a table.
    bibtex : str
        The literature that the text cites, as BibTeX; empty if there is none.
    """

    blocks: Sequence[Block]
    bibtex: str

    def __new__(cls, content: str, blocks: Sequence[Block] = (), bibtex: str = "") -> Self:
        """The text as it prints, and its blocks: by default one paragraph."""
        text = super().__new__(cls, content)
        text.blocks = tuple(blocks) or (("text", content),)
        text.bibtex = bibtex
        return text

    def to_html(self) -> str:
        """Return one page to print on A4 or Letter; it loads nothing.

        Returns
        -------
        str
        """
        return as_html(self.blocks)

    def save(self, path: FilePath) -> None:
        """Write the text to a file, in the format of its ending; an existing file is replaced.

        Parameters
        ----------
        path : path
            A file that ends in .html or .htm (a page to print), .md (Markdown) or .txt, or, where
            the text cites literature, in .bib.

        Examples
        --------
        >>> import rrstats as rr
        >>> page = rr.privacy.instructions(rr.surveys.two_coin([False, True]), "Do you smoke?")
        >>> page.save("page.html")  # doctest: +SKIP
        """
        target = Path(path)
        if self.bibtex and target.suffix.lower() == ".bib":
            content = f"{self.bibtex}\n"
        else:
            endings = [*PAGE_WRITERS, ".bib"] if self.bibtex else PAGE_WRITERS
            check_ending(target, "path", endings)
            content = PAGE_WRITERS[target.suffix.lower()](self.blocks)
        target.write_text(content, "utf-8")

    def _repr_html_(self) -> str:
        smaller = {"title": "column", "heading": "column"}  # the notebook has headings of its own
        return as_fragment([(smaller.get(kind, kind), content) for kind, content in self.blocks])

    def __repr__(self) -> str:
        return str(self)


# -- a result as a table ---------------------------------------------------------------------


class FrameTable(MissingMembers, ABC):
    """Base of all that has a table: its frame, which pandas writes to files."""

    __slots__ = ()

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """The unrounded numbers."""


@checked_keywords
@dataclass(frozen=True, eq=False, repr=False)
class SummaryTable(FrameTable):
    """A result as a table under a header: text in a terminal, HTML in a notebook, LaTeX in a paper.

    Attributes
    ----------
    title : str
        One line that names the result.
    header : sequence of pairs of str
        Names and values to print above the table.
    table : DataFrame
        Unrounded numbers, one row for each parameter.
    heads : sequence of str
        The printed column names.
    formats : mapping of str to callable
        For each column, a function from a cell to its text.
    notes : sequence of str
        Sentences to print below the table.
    cautions : sequence of str
        Sentences to print above everything else, because the numbers are not valid.
    """

    title: str
    header: HeaderLines
    table: pd.DataFrame
    heads: Sequence[str]
    formats: CellFormats
    notes: Sequence[str] = ()
    cautions: Sequence[str] = ()

    def __str__(self) -> str:
        body = self.table.to_string(header=list(self.heads), formatters=dict(self.formats))
        width = max((len(name) for name, _ in self.header), default=0)
        top = [f"{name:<{width}}  {value}" for name, value in self.header]
        rule = "-" * max(len(line) for line in body.splitlines())
        if top:
            top.append(rule)
        return "\n".join([*self.cautions, self.title, rule, *top, body, rule, *self.notes])

    __repr__ = __str__

    def to_frame(self) -> pd.DataFrame:
        """Return the unrounded numbers, one row for each parameter."""
        return self.table.copy()

    def _cells(self) -> TextTable:
        """The heads and rows of the printed table, with parameter names first."""
        columns = [map(self.formats[str(name)], self.table[name]) for name in self.table]
        index = self.table.index
        levels = [map(str, index.get_level_values(level)) for level in range(index.nlevels)]
        rows = [list(row) for row in zip(*levels, *columns, strict=True)]
        heads = ["" for _ in levels]
        return [*heads, *self.heads], rows

    def _repr_html_(self) -> str:
        header = [("table", (["", ""], [list(pair) for pair in self.header]))]
        cautions = [("warning", caution) for caution in self.cautions]
        blocks = [*cautions, ("text", self.title), *(header if self.header else [])]
        blocks.append(("table", self._cells()))
        return as_fragment([*blocks, *(("text", note) for note in self.notes)])

    def as_latex(self) -> str:
        """Return the table as a LaTeX tabular with the rules of booktabs.

        Cautions stand above it as comments.
        """
        heads, rows = self._cells()
        head, *body = (" & ".join(map(_tex, row)) + r" \\" for row in [heads, *rows])
        names = self.table.index.nlevels
        layout = "l" * names + "r" * (len(heads) - names)
        lines = [rf"\begin{{tabular}}{{{layout}}}", r"\toprule", head, r"\midrule", *body]
        cautions = [f"% {caution}" for caution in self.cautions]
        return "\n".join([*cautions, *lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _tex(text: str) -> str:
    """Text with all LaTeX commands escaped."""
    special = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    special |= {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
    return "".join(special.get(c, rf"\{c}" if c in "&%$#_{}" else c) for c in text)
