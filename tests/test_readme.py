"""What a newcomer reads and pastes works: README and the pages of the site."""

import contextlib
import io
import os
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import rrstats as rr
from rrstats.accessor import FrameAccessor, SeriesAccessor

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
SITE = [ROOT / "docs" / name for name in ("getting_started.md", "llms.txt")]
PAGES = [README, *(page for page in SITE if page.exists()), *(ROOT / "docs/guide").glob("*.md")]
PAGES += [ROOT / "docs/coming_from" / f"{name}.md" for name in ("index", "numpy", "opendp")]

pytestmark = pytest.mark.skipif(
    not README.exists(), reason="the tests were copied away from the documents"
)


def blocks(file, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", file.read_text("utf-8"), re.M | re.S)


def printed(code, names):
    """What a block of code prints."""
    page = io.StringIO()
    with contextlib.redirect_stdout(page):
        exec(compile(code, "<document>", "exec"), names)
    return page.getvalue()


def form(page):
    """A page with each number replaced by its kind, and runs of blanks by one."""
    numbers = re.sub(r"-?\d[\d,]*(\.\d*)?", "#", page)
    return [" ".join(line.split()) for line in numbers.splitlines()]


def test_readme_is_short_and_shows_a_picture_then_six_lines_of_code():
    """Below 90 lines: a sentence, a picture with its text, six lines of Python, their output."""
    text = README.read_text("utf-8")
    assert len(text.splitlines()) < 90
    sentence, picture = text.split("\n\n", 3)[1:3]
    for word in ("randomized response", "local differential privacy", "confidence interval"):
        assert word in sentence
    assert re.search(r'alt="[^"]{80,}"', picture)
    for name in re.findall(r'(?:src|srcset)="([^"]+)"', picture):
        assert (ROOT / name).exists()
    assert 6 == len(blocks(README, "python")[0].splitlines())
    assert text.split("```\n", 1)[1].lstrip().startswith("```text\n")
    assert blocks(README, "python")[0] in (ROOT / "docs/playground.md").read_text("utf-8")


def test_readme_output_is_what_the_code_prints():
    """The shown output has the form of a real one, and its numbers are possible ones."""
    code, shown = blocks(README, "python")[0], blocks(README, "text")[0]
    assert form(shown) == form(printed(code, {}))
    rows = re.findall(
        r"^  (vote|party) .* (-?[\d.]+)  ([\d.]+)  ([\d.]+)  944 +[\d.]+$", shown, re.M
    )
    assert len(rows) == 2 + 7
    for _, proportion, low, high in rows:
        assert float(low) <= float(proportion) <= float(high)
    for column in ("vote", "party"):
        assert sum(float(row[1]) for row in rows if row[0] == column) == pytest.approx(1, abs=4e-4)
    mean, low, high = map(
        float, re.search(r"of age=([\d.]+) \(([\d.]+) to ([\d.]+)\)", shown).groups()
    )
    assert 18 < low < mean < high < 95
    assert form(shown) != form(shown.replace("independent ", "so-so "))
    assert form(shown) != form(shown + "\nmore")


def test_the_picture_can_be_drawn_again(tmp_path):
    """The script beside README's pictures writes both, with the words of the stored ones."""
    mpl = pytest.importorskip("matplotlib")
    mpl.use("Agg")
    images = ROOT / "docs" / "images"
    runpy.run_path(str(images / "draw.py"))["draw"](tmp_path)
    for stored in images.glob("*.svg"):
        pages = [path.read_text("utf-8") for path in (stored, tmp_path / stored.name)]
        first, second = (re.findall(r"<!-- (.*[a-z].*) -->", page) for page in pages)
        assert first == second


def test_the_page_on_opendp_runs_with_opendp():
    """What the page calls in OpenDP exists there, and gives the epsilon that is shown."""
    pytest.importorskip("opendp")
    code = blocks(ROOT / "docs/coming_from/opendp.md", r"(?:{code-cell} )?python")
    names = {}
    printed("\n".join(code).replace(":tags: [wrap]", ""), names)
    assert names["measurement"].map(d_in=1) == names["mechanism"].epsilon == 1.7917594692280552


def test_the_page_on_opendp_writes_and_reads_its_json():
    """The page's ten lines give what `dp.serialize` of OpenDP 0.16.0 gives, letter by letter."""
    words = (
        '{"__function__": "make_randomized_response", "__module__": "measurements", "__kwargs__": '
        '{"categories": ["a", "b", "c"], "prob": 0.75, "T": "String"}, "__version__": "0.16.0"}'
    )
    boolean = (
        '{"__function__": "make_randomized_response_bool", "__module__": "measurements", '
        '"__kwargs__": {"prob": 0.75, "constant_time": true}, "__version__": "0.16.0"}'
    )
    names = {}
    code = blocks(ROOT / "docs/coming_from/opendp.md", "{code-cell} python")
    printed("\n".join(code).replace(":tags: [wrap]", ""), names)
    mechanism = rr.KRR(["a", "b", "c"], 0.75)
    assert names["to_opendp"](mechanism) == words
    assert names["from_opendp"](words) == mechanism
    assert names["from_opendp"](boolean) == rr.KRR([False, True], 0.75)
    for example in (rr.KRR([1, 2**40], 0.7), rr.KRR([False, True], 0.75)):
        assert names["from_opendp"](names["to_opendp"](example)) == example


def test_readme_has_the_two_commands_in_one_line_each():
    """`Run it` and `Test it` are each followed by one command of one line, as CI extracts them."""
    text = README.read_text("utf-8")
    commands = {
        title: re.search(rf"^## {title}$.*?^```sh\n(.*?)^```$", text, re.M | re.S)[1]
        for title in ("Run it", "Test it")
    }
    assert {
        "Run it": "pip install . && rrstats demo\n",
        "Test it": 'pip install ".[test]" && python -m pytest -n auto\n',
    } == commands


@pytest.mark.parametrize("name", ["README.md", "docs/contributing.md", "docs/llms.txt"])
def test_links_lead_somewhere(name):
    """Every relative link names a file; the site's build checks those of its pages."""
    file = ROOT / name
    for target in re.findall(r"\]\(([^)#]+)\)", file.read_text("utf-8")):
        page = target.replace(".html", ".md")
        assert "://" in target or (file.parent / page).exists(), target


def defines(path, name):
    """Whether a file defines a function, a class or a constant, not only imports or calls it."""
    word = re.escape(name.rpartition(".")[2])
    definition = rf"^\s*(?:(?:def|class) {word}\b|{word}(?:: [^=\n]+)? =|\[?\[?{word}\]|{word}: )"
    return re.search(definition, path.read_text("utf-8"), re.M) is not None


def test_the_page_for_contributors_names_what_exists():
    """Each file is there, and each `name` of a `file` is defined in it."""
    text = re.sub(r"\s+", " ", (ROOT / "docs/contributing.md").read_text("utf-8"))
    rooms = [ROOT / "rrstats", ROOT / "tests", ROOT / "docs", ROOT / "benchmarks"]

    def files_of(name):
        paths = [ROOT / name, *(path for room in rooms for path in room.glob(f"**/{name}"))]
        return [path for path in paths if path.is_file()]

    for name in set(re.findall(r"`([\w./]+\.(?:py|pyi|toml|md|json|js))`", text)):
        assert files_of(name), name
    named = re.findall(r"`@?([\w.]+)` (?:of|in) `([\w/]+\.(?:py|toml))`", text)
    named += re.findall(r"`@?([\w.]+)` \(`([\w/]+\.(?:py|toml))`\)", text)
    assert len(named) > 30
    for name, file in named:
        assert any(defines(path, name) for path in files_of(file)), f"{name} of {file}"
    modules = [path for room in rooms for path in room.glob("**/*.py")]
    for name in set(re.findall(r"`@?((?:\w+\.)?_?[A-Za-z]*(?:[a-z][A-Z]|_)\w*)`", text)):
        assert any(defines(path, name) for path in modules), name


@pytest.mark.parametrize("files", [False, True], ids=["memory", "files"])
def test_pages_name_only_what_exists(files):
    """Each rr.name, df.rr.name and s.rr.name in README and pages is there."""
    if files:
        pytest.importorskip("pyarrow")
    for file in PAGES:
        text = file.read_text("utf-8")
        for path in set(re.findall(r"(?<![\w.])rr(?:stats)?\.([a-zA-Z_][\w.]*\w)", text)):
            first, _, _ = path.partition(".")
            if (first == "files") != files or first in ("engines", "json", "mjs"):
                continue
            found = rr
            for part in path.split("."):
                found = getattr(found, part, None)
            assert found is not None, f"{file.name} names rr.{path}"
        for owner, name in re.findall(r"\b(df|s)\.rr\.(\w+)", text):
            assert hasattr({"df": FrameAccessor, "s": SeriesAccessor}[owner], name)


@pytest.mark.slow
def test_the_commands_for_files_work_as_they_stand(tmp_path, pa):
    """Each block of shell commands that begins with its own data does its work in a shell."""
    shell = [text for page in PAGES for text in blocks(page, "sh")]
    found = [text for text in shell if text.startswith("python -c")]
    assert found
    python = shlex.quote(sys.executable)
    ours = f'python() {{ {python} "$@"; }}\nrrstats() {{ {python} -m rrstats "$@"; }}\n'
    for number, block in enumerate(found):
        (tmp_path / str(number)).mkdir()
        subprocess.run(
            ["sh", "-eu", "-c", ours + block],
            cwd=tmp_path / str(number),
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            check=True,
            capture_output=True,
        )
    assert len(found) == len(list(tmp_path.glob("*/*.rrstats-ledger.json")))
