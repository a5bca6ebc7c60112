"""Finds the files from which a road leads to torch. Only such files are edited.

`"cuda"` is a word of jax, TensorFlow, CuPy and Numba as well, and a class may have a method `cuda` with another meaning. A
Python file has a road if it imports torch or a library built on torch (rules/roads.toml), anywhere in the file or by a string, or
if it starts a launcher of torch or is started by one. If the project uses torch, these files have a road, too:

- a file that imports a file with a road, over any number of files, or a package that hands one out when it is asked for: to run
  it is to load torch;
- a file that such a file imports directly: it may hold the options of a trainer;
- the file of a constant that one of these files uses as a device or a backend;
- a file with nothing but settings, where the programs around it are for torch (settings_modules.py).

A file that starts or loads another one by its name counts as one that imports it.

A project uses torch if a file that is no test always imports it, or if its requirements ask for it. An import inside of a
function or a `try` may be an optional part that never runs, as in jax. Such an import gives a road to its own file. It makes the
project one that uses torch only if no file imports a library with a "cuda" of its own. A file that imports such a library
and not torch gets no road from others, unless it only names NCCL. A file that always imports another framework and never says
torch gets none from a script with a launcher: it names `main.py`, and there are two of them. Tests give no road to others, as they
import everything.

Files of other kinds have a road if the project uses torch, or if they mention torch.

A project in which nothing mentions a device runs on the CPU. There, slow or imprecise operators are no findings. The same holds
for single programs, which porter/project/host_programs.py finds.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from porter.engine.facts import Roads
from porter.files.kinds import NATIVE, NOTEBOOK, PYTHON, REQUIREMENTS, kind_of
from porter.files.paths import is_test
from porter.files.read import beginning
from porter.files.witness import is_file
from porter.project.imports import Import, Projects, imports, lines_of_cells
from porter.project.loaded_names import LoadedNames
from porter.project.loads_torch import is_quoted, launches, loads, may_load, names_torch
from porter.project.lost_files import lost_files
from porter.project.named_files import NamedFiles, names_in
from porter.project.other_frameworks import FRAMEWORKS, always_imports_another, calls_it_torch, computes_otherwise
from porter.project.outside import outside
from porter.project.said_devices import speaks_of_devices
from porter.project.settings_modules import read_by_cuda, settings_for_torch
from porter.python.evidence import OWN_DEVICES
from porter.python.graphs import reached
from porter.regex import lazy, rare

# a requirement on torch, as a string and as a line
_REQUIRED = lazy(rb"[\"'](?:py)?torch(?![\w/.:-])")
_ASKED = lazy(rb"^[ \t\"'-]*(?:pytorch::)?(?:py)?torch(?![\w./:-])", re.MULTILINE)  # a list or a script names torch
# words about torch in files that are not Python
_SPEAKS = lazy(
    rb"(?i)torch|(?:deepspeed|megatron|horovodrun|lightning|transformers|vllm|llama-?factory)\b|accelerate[ \t]+launch"
)
_FOREIGN = tuple(sorted(name.encode() for name in OWN_DEVICES))  # libraries with devices of their own
# only a file with one of these words can have findings; _NAMES_CUDA: words that may belong to another library
_WORDS = (b"cuda", b"CUDA", b"nccl", b"NCCL", b"nvidia", b"NVIDIA", b"flash_att", b"load_in_", b"adamw_")
_NAMES_CUDA = rare(rb"[\"']cuda|\.cuda\b|is_cuda")
# a package with one of these words may load its modules without an import that names them
_HANDS_OUT = (b"walk_packages", b"iter_modules", b"\ndef __getattr__(", b"_LazyModule(", b"lazy_loader", b"lazy.attach")
_LISTS = ("pyproject.toml", "setup.py", "setup.cfg", "Pipfile", "environment.yml", "environment.yaml")
_NOTEBOOK, _SCRIPT = 20_000_000, 1_000_000  # bytes of a notebook, and of another file, that are read
_INSTALLERS = ("pyproject.toml", "setup.py", "setup.cfg")
_COMMAND = lazy(rb"[\w.-]+[\"']?[ \t]*=[ \t]*[\"']?([A-Za-z_][\w.]*):[A-Za-z_]\w*[ \t]*(?:[\"'\r\n#]|$)")
_FOLLOWED = 500  # files at most that are followed where nothing marks a project


def leads(path: str, data: bytes, roads: Roads) -> bool:
    """Whether a road leads from a file to torch. `data`: its text; of a notebook, its code."""
    if path.endswith(".py"):
        return path not in roads.astray
    if roads.torch:
        return True
    if kind_of(path) in ("", PYTHON, NOTEBOOK):
        return loads(data, list(imports(data)))
    return _SPEAKS.search(data) is not None


class Survey:
    """Finds the roads of a project. `files`: its files of all kinds. `texts`: its Python files. `loose`: nothing marks a
    project, so that files on disk which these files import or name belong to it."""

    def __init__(
        self, root: Path, files: Iterable[str], texts: Mapping[str, bytes], projects: Projects, loose: bool = False
    ):
        self.root, self.files, self.texts = root, tuple(files), dict(texts)
        self.asked, self.loose = frozenset(self.texts), loose
        self._read: dict[str, list[Import]] = {}
        self._cells: dict[str, list[Import]] = {}  # the imports of notebooks
        if loose:
            self._follow()
        self.project = projects.of(self.texts, self.read)
        self._named = NamedFiles(self.project, self.texts)
        self.loading = {path for path in self.texts if self._loads_itself(path)}
        # files that load torch themselves and give the road to others; tests do not
        self.bearers = {path for path in self.loading if not is_test(path)}
        self.torch = self._uses_torch()

    def roads(self, constants: Iterable[tuple[str, str]]) -> Roads:
        """The roads. `constants`: (path, user) of each constant that the file `user` has from the file `path`."""
        lost, others = {*self.asked} - self.loading, set[str]()  # `lost`: files without a road of their own
        settings: tuple[str, ...] = ()
        if self.torch:
            others = {p for p in lost if computes_otherwise(self.texts[p]) and always_imports_another(self.read(p))}
            lost = others | {path for path in lost if any(word in self.texts[path] for word in _WORDS)}
            if lost:
                on_the_way, by_import = self._on_the_way(constants)
                foreign = {path for path in lost if _NAMES_CUDA.search(self.texts[path]) and self._is_foreign(path)}
                others = {p for p in others if p not in by_import or calls_it_torch(self.texts[p])}
                lost -= on_the_way - foreign - others
                of_torch = settings_for_torch(lost - foreign - others, self.texts, self.bearers, self._is_other)
                lost, settings = lost - of_torch, read_by_cuda(of_torch, self.texts, self.bearers)
        found = () if self.loose else outside(self.files, self.texts, self.project, self.root.name, self._bytes)
        torch, device, loads = self.torch or self._speaks(), self._uses_device(), bool(self.bearers)
        astray, host, beside = tuple(sorted(lost)), tuple(sorted(others)), tuple(sorted(found))
        return Roads(astray, torch, loads, device, beside, host=host, lost=self._used_by_lost(), settings=settings)

    def _used_by_lost(self) -> tuple[str, ...]:
        """The files that only programs use which no NPU host runs, and neither a notebook nor a script."""
        if not (found := lost_files(self.texts, self.project)):
            return ()
        shown = (file for _, imported in self.used_by_notebooks() for file in imported)
        used = reached([*shown], self.project.files) | self.named_in_scripts()
        return tuple(path for path in found if path not in used)

    def _uses_device(self) -> bool:
        """Whether any program may use a device. True if not all files of the project are known."""
        if self.loose or not self.torch or any(map(speaks_of_devices, self.texts.values())):
            return True
        kinds = ((path, kind_of(path)) for path in self.files)
        others = [
            (path, _NOTEBOOK if kind == NOTEBOOK else _SCRIPT) for path, kind in kinds if kind not in ("", PYTHON)
        ]
        return any(speaks_of_devices(self._bytes(path, most)) for path, most in others)

    def read(self, path: str) -> list[Import]:
        statements = self._read.get(path)
        if statements is None:
            statements = self._read[path] = list(imports(self.texts.get(path, b"")))
        return statements

    def _loads_itself(self, path: str) -> bool:
        text = self.texts[path]
        if not may_load(text):
            return False
        if loads(text, self.read(path), self._own_modules(path)):
            return True
        return (b"setuptools" in text or b"distutils" in text) and _REQUIRED.search(text) is not None

    def _own_modules(self, path: str) -> set[str]:
        """Imported modules with a name like torch that are files of the project. A folder `torch` does not count, as
        `import torch` does not find it."""
        modules = {
            s.module for s in self.read(path) if names_torch(s) and s.module.partition(".")[0] not in ("", "torch")
        }
        return {module for module in modules if self.project.nearest(path, module)}

    def _is_foreign(self, path: str) -> bool:
        said = any(name in self.texts[path] for name in _FOREIGN)
        return said and any(statement.module.partition(".")[0] in OWN_DEVICES for statement in self.read(path))

    def _is_other(self, path: str) -> bool:
        """Whether a file computes with another framework, or with a library that has devices of its own."""
        tops = {statement.module.partition(".")[0] for statement in self.read(path)}
        return not tops.isdisjoint(OWN_DEVICES) or path not in self.loading and not tops.isdisjoint(FRAMEWORKS)

    def _uses_torch(self) -> bool:
        if any(map(self._always_loads, sorted(self.bearers))):
            return True
        if any(self._is_foreign(path) for path in self.texts if not is_test(path)):
            return False
        return bool(self.bearers) or any(map(self._asks, self.files)) or any(self.notebooks())

    def _always_loads(self, path: str) -> bool:
        text, own_modules = self.texts[path], self._own_modules(path)
        return any(s.outermost and names_torch(s, own_modules) and not is_quoted(text, s) for s in self.read(path))

    def _asks(self, path: str) -> bool:
        if path.rpartition("/")[2] not in _LISTS and kind_of(path) != REQUIREMENTS:
            return False
        text = self._bytes(path, _SCRIPT)
        return (_REQUIRED if path.endswith((".py", ".toml")) else _ASKED).search(text) is not None

    def _speaks(self) -> bool:
        """Whether a file of a project without Python mentions torch."""
        kinds = ((path, kind_of(path)) for path in self.files)
        others = [path for path, kind in kinds if kind not in ("", PYTHON, NATIVE)]
        return not self.texts and any(_SPEAKS.search(self._bytes(path, _SCRIPT)) for path in others)

    def notebooks(self) -> Iterator[tuple[str, bytes]]:
        """The notebooks that import torch, and their bytes. From then on, `read` gives their imports."""
        for path in self.files:
            if path.endswith(".ipynb"):
                statements = self._of_notebook(path)
                if any(names_torch(statement, frozenset()) for statement in statements):
                    self._read[path] = statements
                    yield path, self._bytes(path, _NOTEBOOK)

    def used_by_notebooks(self) -> Iterator[tuple[str, set[str]]]:
        """The notebooks, and the files of the project that each imports."""
        for path in self.files:
            if path.endswith(".ipynb"):
                yield path, self.project.meant(path, self._of_notebook(path))

    def _of_notebook(self, path: str) -> list[Import]:
        if path not in self._cells:
            self._cells[path] = list(imports(lines_of_cells(self._bytes(path, _NOTEBOOK))))
        return self._cells[path]

    def _bytes(self, path: str, most: int = _SCRIPT) -> bytes:
        return beginning(self.root / path, most) or b""

    # ---- neighbours

    def _on_the_way(self, constants: Iterable[tuple[str, str]]) -> tuple[set[str], set[str]]:
        """The files that get a road from others, and those of them that get it by imports alone."""
        for _ in self.notebooks():
            pass
        loaded = LoadedNames(self.texts, lambda path: self.texts.get(path, b""))
        below = {
            path: self.project.files(path) | self._named.by(path) | loaded.by(path)
            for path in {**self.texts, **self._read}
        }
        above: dict[str, set[str]] = {}
        for path, files in below.items():
            for file in files | self._handed_out(path):
                above.setdefault(file, set()).add(path)
        users: dict[str, set[str]] = {}
        for path, user in constants:
            users.setdefault(user, set()).add(path)

        def neighbours(bearers: set[str]) -> set[str]:
            up = reached(bearers, lambda path: above.get(path, ()))
            return up.union(*(below[path] for path in up if not is_test(path)))

        bearers = self.bearers | {path for path in self._read if path.endswith(".ipynb")}
        by_import = neighbours(bearers)
        near = by_import | neighbours(self._launched())
        return reached(near, lambda path: users.get(path, ())), by_import

    def _handed_out(self, path: str) -> set[str]:
        """The files of a package that loads them as it is imported, or when they are asked for."""
        package = path.endswith("/__init__.py") and any(word in self.texts.get(path, b"") for word in _HANDS_OUT)
        return {*self.project.below(path.removesuffix("__init__.py"))} - {path} if package else set()

    def named_in_scripts(self) -> set[str]:
        """The Python files that scripts name."""
        scripts = (path for path in self.files if path.endswith((".sh", ".bash", ".slurm", ".sbatch")))
        return set().union(*(self._named.mentioned(self._bytes(path, _SCRIPT)) for path in scripts))

    def named_as_commands(self) -> set[str]:
        """The Python files with the function of a command that an installation makes: `umx = "openunmix.cli:separate"`."""
        lists = (path for path in self.files if path.rpartition("/")[2] in _INSTALLERS)
        texts = (text for path in lists if b"script" in (text := self._bytes(path, _SCRIPT)))
        names = {name.decode().replace(".", "/") for text in texts for name in _COMMAND.findall(text)}
        ends = tuple(f"/{name}{end}" for name in names for end in (".py", "/__init__.py"))
        return {path for path in self.texts if ends and f"/{path}".endswith(ends)}

    def _launched(self) -> set[str]:
        """The Python files that shell scripts with a launcher of torch name."""
        started: set[str] = set()
        for path in self.files:
            if path.endswith((".sh", ".bash", ".slurm", ".sbatch")):
                text = self._bytes(path, _SCRIPT)
                started |= self._named.mentioned(text) if launches(text) else set()
        return started

    def _follow(self) -> None:
        """Reads the files on disk that these files import or name."""
        todo = [path for path in self.files if path.endswith(".py")]
        for path in self.files:
            if not path.endswith(".py") and kind_of(path) != NATIVE:
                folder = path.rpartition("/")[0]
                names = sorted(names_in(self._bytes(path, _SCRIPT)))
                todo += self._load(f"{folder}/{name}".lstrip("/") for name in names)
        for path in todo:  # the list grows during the loop
            if len(self.texts) > _FOLLOWED:
                return
            todo += self._load(self._beside(path))

    def _beside(self, path: str) -> Iterator[str]:
        folder = path.split("/")[:-1]
        for module, names, *_ in self.read(path):
            bare = module.lstrip(".")
            level, words = len(module) - len(bare), bare.split(".") if bare else []
            bases = [folder[: len(folder) - level + 1]] if level else [folder[:n] for n in range(len(folder), -1, -1)]
            for base in bases:
                for more in ([], *([name] for name, _ in names)):
                    stem = "/".join([*base, *words, *more])
                    yield from (f"{stem}.py", f"{stem}/__init__.py".lstrip("/"))

    def _load(self, paths: Iterable[str]) -> Iterator[str]:
        for path in paths:
            if path not in self.texts and is_file(self.root / path) and len(self.texts) <= _FOLLOWED:
                self.texts[path] = self._bytes(path, _SCRIPT)
                yield path
