"""What the code stands on beside torch: packages, launchers and the variables that `porter env` would write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from porter.files.documents import Json
from porter.rulebook.table import LANGUAGES

if TYPE_CHECKING:
    from porter.report.model import Report


def packages(report: Report) -> list[Json]:
    return [_package(report, *row) for row in report.gathered.packages]


def _package(report: Report, name: str, files: int, place: str, names: tuple[tuple[str, int], ...]) -> Json:
    about = report.texts.package(name)
    assert about is not None, name  # only packages that have a row are gathered
    row = about.row
    used = () if row.status == "native" else names  # of what runs as it is, nobody has to know the parts
    return {
        "name": name,
        "files": files,
        "place": place,
        "status": row.status,
        "since": row.since,
        "replacement": list(row.replacement),
        "code": row.code,
        "names": [{"name": part, "files": count} for part, count in used],
        "message": about.message or None,
    }


def left_alone(report: Report) -> list[Json]:
    """Places about which nothing is to be done."""
    from porter.engine.together import further_places

    rows = []
    for finding in (f for file in report.scan.files for f in file.inventory):
        places = [(finding.path, finding.line), *further_places(finding.path, dict(finding.values))]
        message = {lang: report.texts.message(finding, lang) for lang in LANGUAGES}
        rows.append(
            {
                "code": finding.code,
                "why": finding.why,
                "places": [f"{path}:{line}" for path, line in places],
                "values": dict(finding.values),
                "message": message,
            }
        )
    return rows


def environment(report: Report) -> Json:
    return {"launchers": _launchers(report), "exports": _exports(report)}


def _launchers(report: Report) -> list[Json]:
    """Scripts that start a program of the repository, the training's first."""
    from porter.files.kinds import MAKEFILE, SHELL, kind_of
    from porter.project.program_options import order, start

    launchers = []
    for path in sorted((p for p in report.scan.paths if kind_of(p) in (SHELL, MAKEFILE)), key=order):
        line = start(report.scan.data(path) or b"") if report.scan.data else 0
        if line:
            launchers.append({"path": path, "line": line, "first": path == report.scan.launcher})
    return sorted(launchers, key=lambda row: not row["first"])


def _exports(report: Report) -> list[Json]:
    """What `porter env` would write for these files."""
    from porter.project.environment import World, exports

    if report.scan.data is None:
        return []
    world = World(report.scan.files, report.scan.launcher, sorted(report.scan.paths), report.scan.data)
    return [row._asdict() for row in exports(report.texts.named("exports").values(), world)]
