"""``rrstats studies``: the list, one study, one question, and names that do not exist."""

import pytest
from cli_calls import call, done, refused

import rrstats as rr


def test_all_studies_are_listed(capsys):
    """Each question has a line with its published and its computed proportion, and a legend."""
    page = done(capsys, "studies")
    for name in rr.datasets.studies()["id"]:
        assert f"  {name} " in page
    assert max(map(len, page.splitlines())) <= 80
    (line,) = [line for line in page.splitlines() if "hunters2018.bulbul" in line]
    assert line.split() == ["hunters2018.bulbul", "189", "microdata", "19.4%", "19.4%", "yes"]
    assert "(yes): they are, but this shows little" in page


def test_one_study_and_one_question(capsys):
    """A study lists its questions; a question has its page."""
    page = done(capsys, "studies", "wada2011")
    assert ("wada2011.pag" in page, "nigeria" in page) == (True, False)
    page = done(capsys, "studies", "wada2011.wca")
    assert page == f"{rr.datasets.study('wada2011.wca').summary()}\n"
    assert "published   0.436, 95% interval 0.394 to 0.479\n" in page


@pytest.mark.parametrize(
    ("name", "words"),
    [("wada2011.wcaa", "did you mean 'wada2011.wca'?"), ("x", "of rrstats studies, got 'x'")],
)
def test_a_study_that_does_not_exist(capsys, name, words):
    """It is a wrong argument: code 2 and one line with the nearest name."""
    code, line = refused(capsys, "studies", name)
    assert (2, True) == (code, words in line)


def test_two_names_are_refused(capsys):
    """One question at a time."""
    code, out, err = call(capsys, "studies", "a", "b")
    assert (2, "", True) == (code, out, "unrecognized arguments: b" in err)
