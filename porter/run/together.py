"""Puts together what the files of a run say: what nothing uses is set aside, what has one cause or one decision is told once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from porter.engine.refusals import failure, own
from porter.engine.session import Session
from porter.errors import UserError
from porter.finding import FileResult
from porter.project.resting import rested
from porter.project.set_aside import set_aside
from porter.project.told_by_cause import told_by_cause
from porter.project.told_by_decision import told_by_decision
from porter.project.told_by_function import told_by_function
from porter.project.told_together import told_together
from porter.project.torchless import torchless
from porter.project.unused import Uses

Files = list[FileResult]


def together(done: Files, session: Session, uses: Uses, listing: Callable[[], Sequence[str]]) -> Files:
    """The same files and edits, with findings for a reader. If a step fails, the findings stay as the steps before left them,
    and one more says so: a reader who is told twice is better off than one who is told nothing."""
    rules, broken = session.rules, list[str]()
    steps: tuple[Callable[[Files], Files], ...] = (
        lambda files: torchless(files, session.facts.roads.torch, listing, uses.text),
        lambda files: rested(files, uses),
        lambda files: told_by_function(files, uses.text, rules.thought),
        lambda files: told_by_cause(files, dict(session.facts.native.linked)),
        lambda files: told_by_decision(files, rules.may_stay),
        lambda files: told_together(files, listing, rules.across, rules.thought, uses.text),
        lambda files: set_aside(files, rules.may_stay),
    )
    for step in steps:
        try:
            done = step(done)
        except UserError:
            raise  # of the one who runs it, who is told so in a line
        except Exception as error:
            broken.append(failure(error))
    return _with_faults(done, broken, session) if broken and done else done


def _with_faults(done: Files, errors: Sequence[str], session: Session) -> Files:
    first = min(done, key=lambda file: file.path)
    faults = tuple(own(first.path, 1, "PRT003", "together", session, error=error) for error in errors)
    return [replace(file, findings=(*faults, *file.findings)) if file is first else file for file in done]
