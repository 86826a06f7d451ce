"""How the cells of a tutorial look: a command without IPython's `!`, as one types it; a file under its name.

The copy button then copies what works in a terminal. Only the page changes: the cell runs as it is written.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes

WRITE = "%%writefile "


def setup(app: Any) -> dict[str, Any]:
    app.connect("doctree-read", lambda _, doctree: _show(doctree))
    return {"parallel_read_safe": True}


def _show(doctree: nodes.document) -> None:
    for cell in list(doctree.findall(nodes.container)):
        if "cell_input" in cell["classes"]:
            for block in list(cell.findall(nodes.literal_block)):
                _rewrite(block)


def _rewrite(block: nodes.literal_block) -> None:
    text = block.astext()
    if text.startswith("!"):
        _replace(block, "\n".join(line.removeprefix("!") for line in text.splitlines()), "bash")
    elif text.startswith(WRITE):
        name, _, content = text.removeprefix(WRITE).partition("\n")
        language = "yaml" if name.endswith((".yaml", ".yml")) else "python"
        shown = _replace(block, content.strip("\n"), language)
        shown.parent.insert(
            shown.parent.index(shown), nodes.paragraph("", "", nodes.literal("", name.strip()), classes=["file"])
        )


def _replace(block: nodes.literal_block, text: str, language: str) -> nodes.literal_block:
    shown = nodes.literal_block(text, text, language=language, classes=block["classes"])
    block.replace_self(shown)
    return shown
