"""How Sphinx builds the site: `make docs`. Warnings are errors; nothing is fetched from the network."""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path.insert(0, str(DOCS / "_ext"))

import dpbench  # noqa: E402

# The kernels of the tutorials import _ext/tutorial.py.
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(DOCS / "_ext"), os.environ.get("PYTHONPATH")]))
logging.getLogger("traitlets").setLevel(logging.ERROR)


def _code() -> str:
    """A digest of all that the tutorials and the made pages come from: when it changes, they are made again."""
    found = hashlib.blake2b(digest_size=8)
    for folder in ("dpbench", "conf", "experiments", "datasets", "results/record", "docs/_ext"):
        for path in sorted((ROOT / folder).glob("**/*.*")):
            if path.suffix in (".py", ".yaml", ".md", ".json", ".csv") and "cache" not in path.parts:
                found.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return found.hexdigest()


project = "dpbench"
author = "The dpbench developers"
copyright = author
version = release = dpbench.__version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_copybutton", "pages", "cells", "offline"]
exclude_patterns = ["_build", "slurm", "ci", "about"]
root_doc = "index"
default_role = "code"  # docstrings name things between single backticks
code_digest = _code()

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "cache"
nb_execution_cache_path = str(DOCS / "_build" / "executed" / code_digest)
nb_execution_raise_on_error = True
nb_execution_timeout = 600
nb_merge_streams = True

autodoc_typehints = "none"  # the text says what is expected better than unions of six types
autodoc_class_signature = "separated"  # a class is made by its constructors; its fields would fill the page
autodoc_member_order = "bysource"
autodoc_default_options = {"exclude-members": "__init__, __new__"}
python_maximum_signature_line_length = 90

html_theme = "furo"
html_title = f"dpbench {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
suppress_warnings = ["myst.header"]  # cards begin at the level of their page
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True
copybutton_selector = "div:not(.cell_output) > div.highlight > pre"  # what is typed, not what is printed
