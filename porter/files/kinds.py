"""What a file is, from its name alone: opening each to find out would cost more than all else about it."""

from __future__ import annotations

from porter.regex import lazy

PYTHON, NOTEBOOK = "python", "notebook"
SHELL, MAKEFILE, DOCKERFILE = "shell", "makefile", "dockerfile"
YAML, JSON, TOML, INI, REQUIREMENTS = "yaml", "json", "toml", "ini", "requirements"
NATIVE = "native"  # C++ and CUDA
PAGE = "page"  # Markdown and reStructuredText: what people are told to run

_SUFFIXES = {
    PYTHON: "py pyw",
    NOTEBOOK: "ipynb",
    SHELL: "sh bash slurm sbatch pbs lsf ksh",
    MAKEFILE: "mk mak",
    DOCKERFILE: "dockerfile containerfile",
    YAML: "yaml yml",
    JSON: "json jsonc json5",
    TOML: "toml",
    INI: "ini cfg conf",
    NATIVE: "cu cuh cpp cc cxx c++ c h hpp hh hxx hip",
    PAGE: "md markdown mdx rst",
}
_BY_SUFFIX = {suffix: kind for kind, suffixes in _SUFFIXES.items() for suffix in suffixes.split()}
_BY_NAME = {"makefile": MAKEFILE, "gnumakefile": MAKEFILE, "pipfile": TOML}
_DOCKER = lazy(r"(?:docker|container)file(?:[._-].*)?$")
# the word is often misspelt: requirments, requierements
_REQUIREMENTS = lazy(r"(?:.*[._-])?(?:req[a-z]{2,5}m[a-z]{1,3}ts?|constraints?|reqs?)(?:[._-].*)?\.(?:txt|in)$")
# `requirements/train.txt`
_FOLDERS = ("requirements", "requirement", "reqs", "constraints")
# Nobody keeps settings in files of this size, or programs: data sets are made of them, and memory would be full.
LARGEST = dict.fromkeys((JSON, REQUIREMENTS, PAGE), 1_000_000) | dict.fromkeys(
    (YAML, SHELL, MAKEFILE, DOCKERFILE), 2_000_000
)
LARGEST[NOTEBOOK] = 12_000_000  # most of it pictures that its cells have drawn
LARGEST_OF_OTHERS = 4_000_000  # a Python file is analysed up to files.read.LIMIT


def kind_of(path: str) -> str:
    """One of the kinds above, or "" for what porter has nothing to say about."""
    folder, _, name = path.rpartition("/")
    name = name.lower()
    if known := _BY_NAME.get(name):
        return known
    if (
        "file" in name
        and _is_dockerfile(name)
        or "." not in name
        and folder.rpartition("/")[2].lower() == "dockerfiles"
    ):
        return DOCKERFILE
    if name.endswith((".txt", ".in")):
        listed = _REQUIREMENTS.match(name) or folder.rpartition("/")[2].lower() in _FOLDERS
        return REQUIREMENTS if listed else ""
    stem, dot, suffix = name.rpartition(".")
    return _BY_SUFFIX.get(suffix, "") if dot and stem else ""


def _is_dockerfile(name: str) -> bool:
    """`Dockerfile`, `Dockerfile.gpu`, `Dockerfile-uv-base`, and neither `dockerfile_utils.py` nor `dockerfile.md`."""
    _, dot, suffix = name.rpartition(".")
    return _DOCKER.match(name) is not None and not (dot and suffix in _BY_SUFFIX)


def largest(kind: str) -> int:
    return LARGEST.get(kind, LARGEST_OF_OTHERS)
