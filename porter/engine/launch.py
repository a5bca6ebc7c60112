"""What is known of how the programs of a project are started, for the analysis of one file."""

from __future__ import annotations

from typing import NamedTuple

from porter.files.kinds import MAKEFILE, SHELL, kind_of

Options = tuple[tuple[str, str, str], ...]  # (name, kind, path) of options of programs that take a device or a backend


class Trainers(NamedTuple):
    """Programs that read the arguments of transformers' Trainer from the command line."""

    names: tuple[str, ...] = ()  # of their files, without `.py`
    fields: tuple[str, ...] = ()  # options that they have beside those of transformers


class Launch(NamedTuple):
    """What the scripts of the project pass to its programs."""

    script: str = ""  # the shell script that starts the training
    passed: tuple[tuple[str, str, str], ...] = ()  # (flag, value, script): CUDA's values that scripts pass
    options: Options = ()
    # names of the files that `python -m torch.distributed.launch` starts; it passes them `--local-rank`
    by_module: tuple[str, ...] = ()
    words: tuple[str, ...] = ()  # options that programs hold against "cuda" and against words that are no devices
    unset: tuple[str, ...] = ()  # options that may be None where some file hands them to `cuda()`
    # (program, its option for the bits or "") of what quantises a model with CUDA kernels of the model's own code
    quantizing: tuple[tuple[str, str], ...] = ()
    trainers: Trainers = Trainers()

    def passes(self, flag: str, value: str) -> str | None:
        """The script that passes this value to a flag and still does after the port. Other scripts are ported as well."""
        name = flag.lstrip("-").replace("_", "-")
        for other, old, script in self.passed:
            if old == value and other.lstrip("-").replace("_", "-") == name:
                kind = "backend" if value == "nccl" else "device"
                if kind_of(script) not in (SHELL, MAKEFILE) or not self.takes(flag, kind):
                    return script
        return None

    def takes(self, flag: str, kind: str) -> bool:
        """Whether a program has an option of this name. `kind`: device | backend, which the option takes."""
        name = flag.lstrip("-").replace("_", "-")
        return any(option == name and option_kind == kind for option, option_kind, _ in self.options)
