"""Two copies of a project: as it is, and ported. A run writes into its copy.

What .gitignore names is linked, not copied: a file that a program writes into an ignored folder of the project, such as
`outputs/`, lies in the user's tree, and both runs see it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from porter.errors import UserError
from porter.files.copy import write_copy
from porter.files.discover import VCS, Walk

_LARGEST = 2 << 30


@dataclass(frozen=True, slots=True)
class Leg:
    root: Path  # of the tree that runs
    folder: Path  # in which the program is started


def make(root: Path, trees: Mapping[str, Mapping[str, bytes]], cwd: Path, into: Path) -> dict[str, Leg]:
    """Copies of the tree at `root` by name, each with some files changed, to be started where `cwd` is.

    What .gitignore names, data as a rule, is reached through links; so is what lies around a project that is started
    from outside of it.
    """
    _check_size(root)
    made = {}
    for name, files in trees.items():
        copy = into / name
        write_copy(root, copy, files)
        _link_the_rest(root, copy)
        if cwd.is_relative_to(root):
            made[name] = Leg(copy, copy / cwd.relative_to(root))
        else:
            around = into / f"around {name}"
            _surround(around, cwd, root, copy)
            made[name] = Leg(copy, around)
    return made


def absolute(words: Sequence[str], root: Path) -> list[str]:
    """The words of a program that is started outside of its project: files of the project by their whole path."""
    whole = [os.path.realpath(word) for word in words]
    return [w if os.path.exists(w) and Path(w).is_relative_to(root) else word for word, w in zip(words, whole)]


def _surround(around: Path, cwd: Path, root: Path, copy: Path) -> None:
    around.mkdir()
    inside = root.relative_to(cwd).parts if root.is_relative_to(cwd) else ("",)
    for entry in sorted(os.scandir(cwd), key=lambda entry: entry.name):
        if entry.name != inside[0]:
            os.symlink(entry.path, around / entry.name, target_is_directory=entry.is_dir())
    if inside[1:]:
        _surround(around / inside[0], cwd / inside[0], root, copy)
    elif inside[0]:
        os.symlink(copy, around / inside[0], target_is_directory=True)


def _link_the_rest(root: Path, copy: Path) -> None:
    for entry in sorted(os.scandir(root), key=lambda entry: entry.name):
        there = copy / entry.name
        if entry.name in VCS:
            continue
        if not os.path.lexists(there):
            os.symlink(entry.path, there, target_is_directory=entry.is_dir())
        elif entry.is_dir(follow_symlinks=False):
            _link_the_rest(Path(entry.path), there)


def _check_size(root: Path) -> None:
    total = 0
    walk = Walk(root)
    for folder, folders, files in os.walk(root):
        inside = "" if folder == str(root) else os.path.relpath(folder, root).replace(os.sep, "/") + "/"
        folders[:] = [name for name in folders if not walk.is_left_out(inside + name, True)]
        for name in files:
            if not walk.is_left_out(inside + name, False):
                total += os.lstat(os.path.join(folder, name)).st_size
        if total > _LARGEST:
            raise UserError(
                f"{root.name}: more than {_LARGEST >> 30} GB to copy for each run; name data folders in .gitignore "
                "(they are linked, not copied), or port first and use --original OLD --ported NEW",
                f"{root.name}：每次运行需复制的内容超过 {_LARGEST >> 30} GB；请把数据目录写入 .gitignore（只链接、不复制），"
                "或先迁移，再用 --original OLD --ported NEW",
            )
