"""How Sphinx builds the site: `make docs`. Warnings are errors; nothing is fetched from the network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import dpbench

# The tutorials call `python`: the one that builds the site.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])

project = "dpbench"
author = "The dpbench developers"
copyright = author
version = release = dpbench.__version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "pages",
]
exclude_patterns = ["_build", "slurm"]
root_doc = "index"
default_role = "code"  # docstrings name things between single backticks

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

autodoc_typehints = "signature"
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": False}
autodoc_mock_imports: list[str] = []
napoleon_google_docstring = True

html_theme = "furo"
html_title = f"dpbench {version}"
html_copy_source = False
html_show_sphinx = False
suppress_warnings = ["myst.header"]  # cards begin at the level of their page
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True
