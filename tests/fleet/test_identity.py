"""What makes a folder another input."""

from __future__ import annotations

from fleet_world import committed, git, written

from porter.fleet.identity import of_folder


def test_what_git_tracks_is_part_of_it_in_a_linked_worktree_too(tmp_path):
    """A file that is ignored is analysed once it is tracked, and no file has changed then."""
    folder, linked = tmp_path / "r", tmp_path / "linked"
    committed(folder, {".gitignore": "*.py\n"})
    git(folder, "worktree", "add", "-q", "--detach", str(linked))
    for top, exclude in ((folder, folder), (linked, folder)):
        written(top, {"train.py": "import torch\n"})
        found = [of_folder(str(top)), of_folder(str(top))]
        git(top, "add", "-f", "train.py")
        found.append(of_folder(str(top)))
        written(exclude / ".git" / "info", {"exclude": f"# of {top.name}\n*.sh\n"})
        found.append(of_folder(str(top)))
        assert found[0] == found[1] and len(set(found)) == 3
