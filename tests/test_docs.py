"""What the pages say is true: their code runs, their commands exist, their links lead somewhere."""

import dataclasses
import functools
import importlib
import re
import shlex

import jax
import nbformat
import pytest

import jaxgames
from tests.support import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def page_id(page):
    return page.relative_to(ROOT).as_posix()


def blocks(page, language):
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=page_id)
def test_code_blocks_of_the_pages_run(page, monkeypatch, capsys):
    """Every ```python block, one after the other in one namespace."""
    monkeypatch.chdir(ROOT)
    namespace = {"__name__": page.stem}
    for block in blocks(page, "python"):
        exec(compile(block, page_id(page), "exec"), namespace)
    jax.clear_caches()  # programs of many games in one process take gigabytes


COMMANDS = sorted(
    {
        line.split("#")[0].strip()
        for page in PAGES
        for block in blocks(page, "")
        for line in block.replace("\\\n", " ").splitlines()
        if "python " in line or line.startswith(("make ", "jaxgames "))
    }
)


@functools.cache
def settings_of(script):
    """What a script takes on its command line, as --names; None where it does not say by a dataclass of its own."""
    module = importlib.import_module(script.removesuffix(".py").replace("/", "."))
    classes = [
        each for each in vars(module).values() if dataclasses.is_dataclass(each) and each.__module__ == module.__name__
    ]
    fields = {field.name for each in classes for field in dataclasses.fields(each)}
    return {"--" + name.replace("_", "-") for name in fields}


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_pages_exist(command):
    """Scripts are there and know every flag; targets of make are in the Makefile."""
    words = shlex.split(command)
    if words[0] == "make":
        assert f"\n{words[1]}:" in (ROOT / "Makefile").read_text()
    elif "python" in words and words[words.index("python") + 1].endswith(".py"):
        script = words[words.index("python") + 1]
        assert (ROOT / script).exists()
        if script.startswith("train/"):
            flags = {word.split("=")[0] for word in words if word.startswith("--")}
            assert flags <= settings_of(script), flags - settings_of(script)


def links(text):
    """Targets of Markdown links and images that are files of this repository."""
    without_code = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    return [target for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", without_code) if "://" not in target]


@pytest.mark.parametrize("page", [*PAGES, *NOTEBOOKS], ids=page_id)
def test_pages_link_to_files_that_exist(page):
    if page.suffix == ".ipynb":
        cells = nbformat.read(page, as_version=4).cells
        text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    else:
        text = page.read_text()
    for target in links(text):
        assert (page.parent / target).exists(), target


def test_excerpts_begin_and_end_at_lines_that_exist():
    """Every literalinclude: a build of the pages would find it too, but later."""
    found = 0
    for page in PAGES:
        for path, options in re.findall(
            r"^```\{literalinclude\} (\S+)\n(.*?)^```", page.read_text(), flags=re.DOTALL | re.MULTILINE
        ):
            text = (page.parent / path).read_text()
            for line in re.findall(r'^:(?:start-at|end-before): "(.*)"$', options, flags=re.MULTILINE):
                assert line in text, (page.name, line)
                found += 1
    assert found


def test_the_pages_of_the_games_follow_one_template():
    """The same sections in the same order, every table of its own game; a game may add sections."""
    shared = [
        "Rules",
        "Options",
        "Observations",
        "Actions",
        "Rewards",
        "Determinization",
        "Bots",
        "Players",
        "Speed",
        "Versions",
    ]
    for game in jaxgames.games():
        text = (ROOT / "docs" / "games" / f"{game}.md").read_text()
        headings = [heading for heading in re.findall(r"^## (.*)$", text, flags=re.MULTILINE) if heading in shared]
        assert headings == shared
        tables = re.findall(r"^```\{game-(\w+)\} (\w+)$", text, flags=re.MULTILINE)
        assert tables == [(part, game) for part in ("facts", "options", "observations", "bots", "players", "speed")]
        assert f"../pictures/{game}.svg" in text
        assert f"\n{jaxgames.make(game).version}. " in text.partition("## Versions")[2]


def test_the_readme_names_the_commands():
    text = (ROOT / "README.md").read_text()
    assert "make train" in text
    assert "make test" in text
    assert "make play" in text
