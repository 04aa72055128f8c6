"""Texts of public functions: they are str, print as they read, and are saved by their ending."""

import copy
import pickle

import pytest

import rrstats as rr
from rrstats._display import Text, as_html, as_markdown, as_text

WARNER = rr.surveys.warner(["no", "yes"], 0.7, yes="yes")
TEXTS = {
    "explain": lambda: rr.privacy.explain(WARNER),
    "instructions": lambda: rr.privacy.instructions(WARNER, "Did you ever?"),
    "methods": lambda: rr.privacy.methods(WARNER),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_a_str_that_prints_as_it_reads(name):
    """It equals its str, splits as one, and a terminal and a notebook show it without quotes."""
    text = TEXTS[name]()
    assert isinstance(text, Text)
    assert type(str(text)) is str
    assert text == str(text) == repr(text)
    assert hash(text) == hash(str(text))
    assert "Epsilon is" in text
    assert "<p>" in text._repr_html_()


@pytest.mark.parametrize("name", TEXTS)
def test_the_ending_of_the_file_is_the_format(name, tmp_path):
    """HTML, Markdown or plain text; an ending in capitals too, and no other."""
    text = TEXTS[name]()
    for ending, writer in ((".html", as_html), (".HTM", as_html), (".md", as_markdown)):
        text.save(tmp_path / f"page{ending}")
        assert (tmp_path / f"page{ending}").read_text("utf-8") == writer(text.blocks)
    text.save(str(tmp_path / "page.txt"))
    assert (tmp_path / "page.txt").read_text("utf-8") == as_text(text.blocks)
    with pytest.raises(rr.errors.ArgumentValueError, match=r"path must end in \.md or"):
        text.save(tmp_path / "page.pdf")
    assert not (tmp_path / "page.pdf").exists()


def test_literature_is_saved_alone(tmp_path):
    """Only the text that cites works can be saved as BibTeX."""
    paragraph = TEXTS["methods"]()
    paragraph.save(tmp_path / "design.bib")
    assert (tmp_path / "design.bib").read_text("utf-8") == f"{paragraph.bibtex}\n"
    with pytest.raises(rr.errors.ArgumentValueError, match=r"\.txt, got"):
        TEXTS["explain"]().save(tmp_path / "design.bib")


def test_a_text_can_be_copied():
    """Copies and pickles keep blocks and literature."""
    paragraph = TEXTS["methods"]()
    for other in (copy.deepcopy(paragraph), pickle.loads(pickle.dumps(paragraph))):
        assert other == paragraph
        assert (other.blocks, other.bibtex) == (paragraph.blocks, paragraph.bibtex)
