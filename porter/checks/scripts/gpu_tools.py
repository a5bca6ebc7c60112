"""Programs that only a machine with GPUs has, but for nvidia-smi, what installs CUDA, and its folders."""

from __future__ import annotations

from collections.abc import Iterator

from porter.engine.rule import Hit, TextRule, named
from porter.files.kinds import SHELL, kind_of
from porter.regex import lazy
from porter.text.document import Document
from porter.text.shells.programs import SET_ENV, TOOLS, heads
from porter.text.shells.script import Command, Script

_CUDA_PATH = lazy(r"/usr/local/cuda(?:-[\d.]+)?(?:/[\w./-]*)?|/opt/cuda\b[\w./-]*")
# what NVIDIA serves the toolkit as: the program that installs it, and what tells apt where its packages are
_INSTALLER = lazy(
    r"developer\.(?:download\.)?nvidia\.com/compute/cuda/(?:[\w.-]+/)*(?:cuda[\w.-]*\.run|cuda-keyring[\w.-]*|cuda-repo[\w.-]*|cuda-\w+\.pin)"
)
_SERVED = "nvidia.com/compute/cuda/"
_ASKING = ("--version", "-V")
_USES = frozenset({"pipeline", "command_substitution", "list", "redirected_statement", "function_definition"})
_STOPS = lazy(r"(?m)^#!.*\s-\w*e|^[ \t]*set[ \t]+(?:-\w*e|-o[ \t]+errexit)")  # at the first command that fails
_LISTS = frozenset({"PATH", "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"})


class GpuTools(TextRule):
    code = "PRT820"
    reads = "script"

    def look(self, document: Document, script: Script) -> Iterator[Hit]:
        for command in script.commands:
            for index in heads(command):
                word = command.words[index]
                if word.name in TOOLS:
                    why = TOOLS[word.name]
                    asks = why == "compiler" and any(w.text in _ASKING for w in command.words[index + 1 : index + 2])
                    if asks:
                        why = "printed" if only_prints(document, command) else "version"
                    yield Hit((word.start, word.end), why, values=named(tool=word.name))
            for word in command.words if _SERVED in document.text else ():
                if match := _INSTALLER.search(word.text):
                    start = word.start + match.start()
                    yield Hit(
                        (start, start + len(match[0])), "installer", values=named(tool=match[0].rpartition("/")[2])
                    )
        yield from _paths(script)


def only_prints(document: Document, command: Command) -> bool:
    """Whether a command of a shell script only tells a person something, and the script goes on where there is no such command."""
    used = command.condition or not _USES.isdisjoint(command.around)
    return kind_of(document.path) == SHELL and not used and _STOPS.search(document.text) is None


def _paths(script: Script) -> Iterator[Hit]:
    """`export PATH=/usr/local/cuda/bin:$PATH`."""
    for name in script.names:
        if name.role == "set" and name.name in _LISTS and name.value and (match := _CUDA_PATH.search(name.value.text)):
            start = name.value.start + match.start()
            yield Hit((start, start + len(match[0])), "path", values=named(new=SET_ENV))
