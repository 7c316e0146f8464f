"""How the pages are built: `make docs`, with every warning an error."""

import pathlib
import re
import shutil
import sys

import jaxgames

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))  # for the extension beside this file

project = "jaxgames"
version = release = jaxgames.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "extension"]
exclude_patterns = ["results/throughput/*"]
html_theme = "furo"
html_title = f"jaxgames {release}"
html_static_path = ["style.css"]
html_css_files = ["style.css"]
html_show_copyright = False

nb_execution_mode = "off"  # notebooks show what a full run of them has shown; the tests run them
nb_merge_streams = True
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence"]
default_role = "code"  # docstrings say `state`, not ``state``
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_default_options = {"members": True}


def copy_notebooks() -> None:
    """Notebooks lie beside docs/ for their readers; Sphinx wants them below it, with links that fit there."""
    target = HERE / "notebooks"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for path in (HERE.parent / "notebooks").glob("*.ipynb"):
        text = path.read_text(encoding="utf-8")
        (target / path.name).write_text(re.sub(r"\]\(\.\./docs/", "](../", text), encoding="utf-8")


copy_notebooks()
