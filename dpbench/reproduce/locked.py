"""The exact versions of everything that dpbench needs, as installed: the content of a lock file. Imported by `artifact`."""

from __future__ import annotations

from importlib import metadata

from packaging.requirements import InvalidRequirement, Requirement

NAME = "dpbench-repro"


def locked(name: str = NAME) -> dict[str, str]:
    """Name and version of each distribution that `name` needs, directly or indirectly, sorted by name. Extras are left out."""
    found: dict[str, str] = {}
    waiting = [name]
    while waiting:
        for requirement in metadata.requires(waiting.pop()) or ():
            for needed in _needed(requirement):
                if needed not in found:
                    found[needed] = metadata.version(needed)
                    waiting.append(needed)
    return dict(sorted(found.items()))


def _needed(requirement: str) -> list[str]:
    """The distribution that a requirement names, if it applies here and is installed."""
    try:
        parsed = Requirement(requirement)
        if parsed.marker is not None and not parsed.marker.evaluate({"extra": ""}):
            return []
        return [metadata.distribution(parsed.name).metadata["Name"]]
    except (InvalidRequirement, metadata.PackageNotFoundError):
        return []


def lock_file(name: str = NAME) -> str:
    """The text of a requirements.lock for `pip install --constraint`."""
    head = f"# The versions that {name} ran with. Use: pip install --constraint requirements.lock {name}\n"
    return head + "".join(f"{package}=={version}\n" for package, version in locked(name).items())
