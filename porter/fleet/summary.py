"""All rows of a fleet in one document: ranked, with what they share and what changed since another run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from porter import __version__
from porter.errors import UserError
from porter.files import documents
from porter.files.documents import Json
from porter.fleet.entries import Entry
from porter.fleet.layout import REPORT, REPOSITORIES
from porter.fleet.row import DONE, FAILED, SCHEMA, SHARED, of_failure
from porter.report.effort import days

CLEAR, BLOCKED, NOTHING = "clear", "blocked", "nothing"
STAGES = (CLEAR, BLOCKED, NOTHING, FAILED)
FILE = "fleet.json"
PARTS = {"repositories": list, "obstacles": list, "totals": dict}
_TREND = ("stops", "blockers", "percent", "days")
_COMPARED = {"id", "name", "source", "state", "left", "percent", "blockers", "days"}  # of a row of an earlier fleet


def document(
    entries: Iterable[Entry],
    rows: Mapping[str, Json],
    lang: str,
    against: tuple[str, Json] | None,
    libraries: Sequence[Json] = (),
) -> Json:
    """`rows`: by the id of an entry; an entry with an error has none, and its error becomes its row. `against`: the name of an
    earlier fleet, and its document. `libraries`: those that were analysed once, for all repositories. `schema.json` beside this file
    says what each part is, and allows no other."""
    made = [_of(entry, rows[entry.id] if entry.error is None else of_failure(**entry.error)) for entry in entries]
    made.sort(key=_order)
    for rank, row in enumerate((row for row in made if row["stage"] in (CLEAR, BLOCKED)), 1):
        row["rank"] = rank
    gone = _trends(made, against[1]["repositories"]) if against else []
    return {
        "schema": SCHEMA,
        "porter": __version__,
        "language": lang,
        "totals": _totals(made),
        "against": against[0] if against else None,
        "gone": gone,
        "libraries": list(libraries),
        "obstacles": _obstacles(made),
        "repositories": made,
    }


def read(file: str) -> Json:
    """Of an earlier fleet. Raises UserError, FilesError."""
    command = "porter fleet LIST --output FOLDER"
    found = documents.read(file, command, ("schema", SCHEMA), PARTS)
    if not all(isinstance(row, dict) and row.keys() >= _COMPARED for row in found["repositories"]):
        raise UserError(
            f"{file}: damaged, or of another version: a repository lacks a part; write it anew with `{command}`",
            f"{file}：文件损坏或版本不同：某个仓库缺少内容；请用 `{command}` 重新生成",
        )
    return found


def _of(entry: Entry, row: Json) -> Json:
    about = {
        "id": entry.id,
        "name": entry.name,
        "source": entry.source,
        "revision": entry.revision,
        "place": entry.place,
    }
    kept = {key: value for key, value in row.items() if key not in ("schema", "key", "is_new")}
    made = {
        "rank": None,
        **about,
        "stage": "",
        "blockers": 0,
        "trend": None,
        "days": None,
        "percent": None,
        "report": None,
        **kept,
    }
    if row["state"] == DONE:
        auto, places = row["readiness"]["auto"], row["readiness"]["places"]
        made["blockers"] = len(_blocking(row))
        made["days"] = days(tuple(row["minutes"]))
        made["percent"] = 100 * auto // places if places else None
        made["report"] = f"{REPOSITORIES}/{entry.id}/{REPORT}"
    return made | {"stage": _stage(made)}


def _stage(row: Json) -> str:
    if row["state"] == FAILED:
        return FAILED
    if row["blockers"]:
        return BLOCKED
    is_nothing = row["route"] is None or row["route"]["name"] == "nothing" or not row["minutes"][1]
    return NOTHING if is_nothing else CLEAR


def _blocking(row: Json) -> list[Json]:
    return [one for one in row["obstacles"] if one["severity"] == "blocker"]


def _order(row: Json) -> tuple[int, int, int, int, str, str]:
    """By stage; then what fewest obstacles block; then what costs least."""
    least, most = row["minutes"] or (0, 0)
    return (STAGES.index(row["stage"]), row["blockers"], most, least, row["name"], row["id"])


def _totals(rows: list[Json]) -> Json:
    done = [row for row in rows if row["state"] == DONE]
    minutes = [sum(row["minutes"][side] for row in done) for side in (0, 1)]
    readiness = {key: sum(row["readiness"][key] for row in done) for key in ("auto", "places")}
    counted = Counter(row["stage"] for row in rows)
    return {
        "repositories": len(rows),
        **{stage: counted[stage] for stage in STAGES},
        "lines": sum(row["lines"] for row in done),
        "files": sum(row["files"] for row in done),
        "readiness": readiness,
        "minutes": minutes,
        "days": days((minutes[0], minutes[1])),
    }


def _obstacles(rows: list[Json]) -> list[Json]:
    """What blocks, in how many repositories; and of how many it is all that has to come from elsewhere.

    `frees`: no other package and no other API blocks the repository; what else does is its own code.
    `alone`: nothing else blocks it at all.
    """
    found: dict[tuple[str, str], Json] = {}
    for row in rows:
        blocking = _blocking(row)
        shared = [one for one in blocking if one["kind"] in SHARED]
        for one in blocking:
            fresh = {key: one[key] for key in ("kind", "name", "title")}
            fresh |= {"repositories": 0, "frees": 0, "alone": 0, "minutes": [0, 0], "ids": []}
            at = found.setdefault((one["kind"], one["name"]), fresh)
            at["repositories"] += 1
            at["frees"] += shared == [one]
            at["alone"] += blocking == [one]
            at["minutes"] = [sum(pair) for pair in zip(at["minutes"], one["minutes"])]
            at["ids"].append(row["id"])
    for at in found.values():
        at["days"] = days(tuple(at["minutes"]))
    return sorted(
        found.values(), key=lambda at: (-at["repositories"], -at["frees"], -at["minutes"][1], at["kind"], at["name"])
    )


def best(obstacles: Iterable[Json]) -> Json | None:
    """The one whose mending lets most repositories go on."""
    shared = [at for at in obstacles if at["kind"] in SHARED and at["frees"]]
    return max(shared, key=lambda at: (at["frees"], at["alone"], at["minutes"][1]), default=None)


def _trends(rows: list[Json], earlier: list[Json]) -> list[Json]:
    """Writes the trend of each row; the answer are those that are not there any more."""
    by_id = {row["id"]: row for row in earlier}
    names, old_names = Counter(row["name"] for row in rows), Counter(row["name"] for row in earlier)
    by_name = {row["name"]: row for row in earlier if old_names[row["name"]] == 1}
    met: set[str] = set()
    for row in rows:
        old = by_id.get(row["id"]) or (by_name.get(row["name"]) if names[row["name"]] == 1 else None)
        if old is None:
            row["trend"] = {"is_new": True}
            continue
        met.add(old["id"])
        if DONE == old["state"] == row["state"]:
            row["trend"] = {"is_new": False, **{key: _difference(old, row, key) for key in _TREND}}
    return [{key: row[key] for key in ("id", "name", "source")} for row in earlier if row["id"] not in met]


def _difference(old: Json, new: Json, key: str) -> float | None:
    """Of days, a pair of least and most, that of the most."""
    then, now = (row["left"]["stops"] if key == "stops" else row[key] for row in (old, new))
    if key == "days":
        then, now = then[1], now[1]
    return None if then is None or now is None else now - then
