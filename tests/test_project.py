"""The project around the games: free imports, layers, and the wheel."""

import ast
import os
import pathlib
import re
import subprocess
import sys
import tomllib
import zipfile

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import jaxgames
from tests.support import ROOT

PACKAGES = ("jaxgames", "agents", "train", "web")
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in PACKAGES
    for path in (ROOT / package).rglob("*.py")
)


def run_python(code, cwd=ROOT, **environment):
    """Run a program in a fresh process and return what it printed; it must succeed."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_importing_touches_no_device():
    """Every module, in a fresh process: no backend is initialised, so platforms can still be chosen afterwards."""
    # Importing pgx itself makes arrays on a device; nothing else that we import does.
    imports = "\n".join(f"import {name}" for name in MODULES if name != "jaxgames.adapters.pgx")
    code = f"{imports}\nfrom jax._src import xla_bridge\nassert not xla_bridge._backends, xla_bridge._backends\n"
    run_python(code)


ALLOWED = {
    "jaxgames": {"jaxgames"},
    "agents": {"agents", "jaxgames"},
    "train": {"train", "agents", "jaxgames"},
    "web": {"web", "agents", "jaxgames"},
}
THIRD_PARTY_OF_THE_LIBRARY = {"jax", "chex", "numpy"}
OPTIONAL = {"terminal.py": {"rich"}}  # imported on use, and done without where it is missing


@pytest.mark.parametrize("package", PACKAGES)
def test_layers(package):
    """`jaxgames` imports neither `agents` nor `train`, `agents` only `jaxgames`; the library needs three packages."""
    for path in (ROOT / package).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            for root in {name.split(".")[0] for name in names}:
                assert root not in PACKAGES or root in ALLOWED[package], f"{path.name} imports {root}"
                if package == "jaxgames" and "adapters" not in path.parts:
                    known = sys.stdlib_module_names | THIRD_PARTY_OF_THE_LIBRARY | {"jaxgames"}
                    assert root in known | OPTIONAL.get(path.name, set()), f"{path} imports {root}"


def test_every_game_has_the_same_rooms():
    """cards, state, rules, observe, rewards, determinize, render, env."""
    rooms = {"cards", "state", "rules", "observe", "rewards", "determinize", "render", "env"}
    for game in jaxgames.games():
        assert rooms <= {path.stem for path in (ROOT / "jaxgames" / game).glob("*.py")}, game
        assert (ROOT / "docs" / "rules" / f"{game}.md").exists()


def test_the_wheel_holds_the_library_alone_and_works_without_the_rest(tmp_path):
    """Built, unpacked into an empty directory, imported and played there with flax, distrax and the others barred."""
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)]
    done = subprocess.run(build, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"jaxgames", f"jaxgames-{jaxgames.__version__}.dist-info"}
    site = tmp_path / "site"
    zipfile.ZipFile(wheel).extractall(site)
    code = f"""
import sys
barred = {{"flax", "distrax", "optax", "mctx", "flashbax", "orbax", "tyro", "rich", "matplotlib", "agents", "train"}}
class Bar:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in barred:
            raise ImportError(f"{{name}} is barred here")
sys.meta_path.insert(0, Bar())
sys.path.insert(0, {str(site)!r})
import jax, jaxgames
assert jaxgames.__file__.startswith({str(site)!r}), jaxgames.__file__
for game in jaxgames.games():
    env = jaxgames.make(game)
    jax.eval_shape(lambda key: env.step(env.init(key), 0), jax.random.key(0))
print(jaxgames.__version__)
"""
    assert run_python(code, cwd=tmp_path).strip() == jaxgames.__version__


def test_constraints_pin_names_and_versions_only():
    for line in (ROOT / "constraints.txt").read_text().splitlines():
        assert re.fullmatch(r"#.*|[A-Za-z0-9._-]+==[A-Za-z0-9.+]+", line), line


def test_the_floors_that_are_tested_are_those_that_are_stated():
    """`make floors` installs the lowest versions of everything that a user installs."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    stated = [
        Requirement(line) for line in [*project["dependencies"], *extras["train"], *extras["adapters"], *extras["web"]]
    ]
    lines = (ROOT / "constraints-floors.txt").read_text().split()
    tested = {canonicalize_name(name): Version(version) for name, version in (line.split("==") for line in lines)}
    assert tested.pop("jaxlib") == tested["jax"]
    for requirement in stated:
        (bound,) = requirement.specifier
        assert (bound.operator, Version(bound.version)) == (">=", tested[canonicalize_name(requirement.name)])
    assert tested.keys() == {canonicalize_name(requirement.name) for requirement in stated}


def test_ci_can_be_run():
    assert pathlib.Path(ROOT / ".ci" / "run").stat().st_mode & 0o100
