"""What a project says of the files that its programs save and load."""

from __future__ import annotations

from typing import NamedTuple


class Saved(NamedTuple):
    """A dictionary that the project saves."""

    path: str
    program: str  # the folder of the program that saves it, with its slash; other programs load other files
    keys: tuple[str, ...]
    held: str  # the first key whose value is neither a tensor nor plain; "" where there is none
    of_rates: bool = False  # it is plain but for the learning rates of an optimizer, which numpy computes


class Restored(NamedTuple):
    """A call of a function that reads of a checkpoint what its keywords name: `restore(path, optimizer=optimizer)`."""

    path: str
    function: str
    keywords: tuple[str, ...]


class Checkpoints(NamedTuple):
    saved: tuple[Saved, ...] = ()  # dictionaries that programs save; () where none of them holds an object
    restored: tuple[Restored, ...] = ()
    # (folder of a program, key) of weights that it moves before it saves them
    on_host: tuple[tuple[str, str], ...] = ()
    # (name by which it is loaded, object that it holds) of files of the project
    shipped: tuple[tuple[str, str], ...] = ()
    # modules of Lightning keep what hydra hands them, optimizers and lists among it, as hyperparameters
    configured: bool = False
    # how paths of files begin in which a loader of the project stands for `torch.load`, and says what it unpickles
    replaced: tuple[str, ...] = ()
