"""What the page says file by file: where findings stand, and what starts the training."""

from __future__ import annotations

from collections import Counter

from porter.files.documents import Json
from porter.finding import SEVERITIES, STATUSES
from porter.report.treemap import boxes


def files(document: Json, due: list[Json]) -> Json:
    counts: dict[str, Counter[str]] = {}
    for f in due:
        counts.setdefault(f["path"], Counter())[f["status"]] += 1
        counts[f["path"]][f["severity"]] += 1
    lines = {file["path"]: file["lines"] for file in document["files"]}
    rows = []
    for path, count in counts.items():
        left = count["review"] + count["manual"]
        rows.append(
            {
                "path": path,
                "lines": lines.get(path, 0),
                "left": left,
                "total": left + count["auto"],
                **{k: count[k] for k in (*STATUSES, *SEVERITIES)},
            }
        )
    rows.sort(key=lambda row: (-row["manual"], -row["review"], -row["total"], row["path"]))
    sizes = {row["path"]: (row["total"], row["left"]) for row in rows}
    return {"rows": rows, "boxes": boxes(sizes), "widest": max((row["total"] for row in rows), default=1)}


def launchers(document: Json, due: list[Json]) -> list[Json]:
    counts = Counter((f["path"], f["status"]) for f in due)
    return [
        {**row, **{status: counts[row["path"], status] for status in STATUSES}}
        for row in document["environment"]["launchers"]
    ]
