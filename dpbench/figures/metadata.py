"""The metadata in the files of a figure: the command, the version and the scale. Imported by `draw` and the report."""

from __future__ import annotations

from dataclasses import dataclass

from dpbench.model.environment import Environment

FORMATS = ("png", "pdf")
EVERY_FORMAT = ("png", "pdf", "svg")


@dataclass(frozen=True)
class About:
    """Where a figure comes from."""

    title: str
    command: str
    """The command that makes it again."""
    environment: Environment
    """Versions and machine of the run."""
    scale: str

    @property
    def version(self) -> str:
        release = self.environment.versions.get("dpbench-repro", "")
        commit = self.environment.commit
        return " ".join(filter(None, ["dpbench", release, f"({commit})" if commit else ""]))

    def metadata(self, kind: str) -> dict[str, str | None]:
        """The metadata for `savefig`. It has no date, so that equal figures are equal files."""
        told = f"scale {self.scale}; made by: {self.command}"
        if kind == "pdf":
            return {"Title": self.title, "Subject": told, "Creator": self.version, "CreationDate": None}
        if kind == "svg":
            return {"Title": self.title, "Description": told, "Creator": self.version, "Date": None}
        own = {"Title": self.title, "Description": told, "Command": self.command, "Scale": self.scale}
        return {**own, "Software": self.version}
