"""What `--output` names: files, each in the format of its suffix, and folders of pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from porter.commands.output import write_text
from porter.report import PAGES, format_of, render

if TYPE_CHECKING:
    from porter.files.pages import PagesFolder
    from porter.report.model import Report


class Output(NamedTuple):
    file: str
    form: str
    folder: PagesFolder | None  # where it is one

    def write(self, report: Report) -> None:
        if self.folder is None:
            write_text(self.file, render(report, self.form))
        else:
            from porter.report.pages import Site

            site = Site(report)
            self.folder.write(site.names, site.pages())


def outputs_of(files: Iterable[str] | None) -> list[Output]:
    """Before the work, not after it: raises UserError, and FilesError for a folder that is somebody's."""
    forms = [(file, format_of(file)) for file in files or ()]
    return [Output(file, form, _folder(file) if form == PAGES else None) for file, form in forms]


def _folder(file: str) -> PagesFolder:
    from porter.files.pages import PagesFolder

    return PagesFolder(file)
