"""What the style shim knows of a project."""

from __future__ import annotations

from typing import NamedTuple


class Shimmed(NamedTuple):
    """Where the style shim brings transfer_to_npu; gathered for that style alone."""

    programs: tuple[str, ...] = ()  # what a person or a launcher starts, and what leads to CUDA from there
    grouped: tuple[str, ...] = ()  # of all, those that lead to code with process groups
    workers: tuple[str, ...] = ()  # modules that Ray imports in processes of its own
    choosing: tuple[tuple[str, str], ...] = ()  # (program, "path:line" where it chooses NPUs itself)
    own: tuple[str, ...] = ()  # files that only such programs use
    alone: tuple[str, ...] = ()  # files that speak of CUDA, and that no program leads to; of a library the first alone
    notebooks: tuple[str, ...] = ()  # those whose imports lead to CUDA
    outside: tuple[str, ...] = ()  # files without CUDA that no program leads to: nobody imports the shim

    def starts_at(self, path: str) -> bool:
        """Whether a file may get the import, whatever else it says."""
        return path in self.programs or path in self.notebooks
