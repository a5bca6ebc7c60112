"""A fleet on a terminal, and as rows for a spreadsheet."""

from __future__ import annotations

import csv
import io

from porter.files.documents import Json
from porter.fleet.page import headline, library_names, span
from porter.fleet.row import FAILED, SHARED
from porter.fleet.summary import BLOCKED, CLEAR, best
from porter.report.csv import cell
from porter.rulebook.words import speaker
from porter.terminal import Line

say = speaker("fleet")

FIRST = 10  # repositories, and as many without a result
COLUMNS = (
    "Rank", "Name", "Stage", "Route", "Ready Percent", "Automatic Places", "Places", "Blockers", "Left Stops", "Least Days",
    "Most Days", "Lines", "Files", "Blocked By", "Ready Change", "Blockers Change", "Most Days Change", "Target", "Commit",
    "Source", "Revision", "Listed In", "Report", "Why Not",
)  # fmt: skip


def lines(found: Json) -> list[Line]:
    lang, totals = found["language"], found["totals"]
    rows: list[Line] = [[(headline(totals, lang), "bold")]]
    if first := best(found["obstacles"]):
        values = {"name": first["name"], "frees": first["frees"], "n": first["repositories"]}
        rows.append([(say("best", lang, **values), "")])
    if found["libraries"]:
        rows.append([(say("text.libraries", lang, names=library_names(found, lang)), "")])
    shared = [at for at in found["obstacles"] if at["kind"] in SHARED][: FIRST // 2]
    for at in shared:
        text = say("text.wait", lang, n=at["repositories"], all=totals["repositories"], name=at["name"])
        rows.append([(f"  {text}", ""), (say("text.frees", lang, frees=at["frees"]) if at["frees"] else "", "")])
    ranked = [row for row in found["repositories"] if row["stage"] in (CLEAR, BLOCKED)]
    rows.append([])
    for row in ranked[:FIRST]:
        about = say("text.row", lang, blockers=row["blockers"], days=span(row["days"]))
        style = "blocker" if row["stage"] == BLOCKED else "auto"
        rows.append([(f"{row['rank']:>4}  ", ""), (row["name"], "bold"), ("  ", ""), (about, style)])
    failed = [row for row in found["repositories"] if row["state"] == FAILED]
    rows += _more(len(ranked), lang)
    for row in failed[:FIRST]:
        rows.append(
            [("   -  ", ""), (row["name"] or row["source"], "bold"), (f"  {row['place']}: {row['why'][lang]}", "wrong")]
        )
    return rows + _more(len(failed), lang)


def _more(n: int, lang: str) -> list[Line]:
    return [[(f"      {say('text.more', lang, n=n - FIRST)}", "")]] if n > FIRST else []


def as_csv(found: Json) -> str:
    stream = io.StringIO()
    stream.write("\ufeff")  # as porter/report/csv.py
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in found["repositories"]:
        writer.writerow([cell("" if value is None else value) for value in _cells(row, found["language"])])
    return stream.getvalue()


def _cells(row: Json, lang: str) -> list[object]:
    ready, left, trend, target = (row[key] or {} for key in ("readiness", "left", "trend", "target"))
    least, most = row["days"] or ("", "")
    blocked = "; ".join(one["title"][lang] for one in row["obstacles"] if one["severity"] == "blocker")
    change = "new" if trend.get("is_new") else None
    return [
        row["rank"], row["name"], row["stage"], row["route"]["name"] if row["route"] else "", row["percent"], ready.get("auto"),
        ready.get("places"), row["blockers"], left.get("stops"), least, most, row["lines"], row["files"], blocked,
        *(change or trend.get(key) for key in ("percent", "blockers", "days")),
        ",".join(f"{key}={target[key]}" for key in ("torch_npu", "soc") if target), row["commit"], row["source"],
        row["revision"], row["place"], row["report"], row["why"][lang] if row["why"] else "",
    ]  # fmt: skip
