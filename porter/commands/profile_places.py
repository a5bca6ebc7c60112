"""Where in the code: signs of a profile joined with porter's findings, and operators with the lines that call them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from porter.diagnose.repository import Place, Repository, of_run
from porter.diagnose.traces import Frame
from porter.files.documents import Json
from porter.profiles.find import Run as Profiled
from porter.profiles.model import Profile
from porter.profiles.stacks import frames
from porter.profiles.sums import shown_profile
from porter.regex import lazy

if TYPE_CHECKING:
    from porter.run.run import Run

MOST = 3
_VERSION = lazy(r"V\d+$")


def join(document: Json, side: Json, run: Profiled, repo: str, lang: str) -> None:
    """Fills the `places` of signs, and those of the operators of a side: where their call stacks are in the repository,
    else where calls have their names."""
    from porter.checks.registry import load
    from porter.commands.job import prepare

    analysed = prepare((repo,), lang=lang).run(quiet=True)
    repository = of_run(analysed, load().texts, lang)
    calls = _calls(analysed)
    profile = shown_profile(run)
    for sign in document["next"]:
        places = repository.of(tuple(sign["codes"]), [])
        sign["places"] = [_of_place(place) for place in places[:MOST]]
        sign["findings"] = len(places)
    for row in (*side["torch"], *side["operators"]):
        row["places"] = _of_stacks(profile, row["name"], repository) or calls.get(_plain(row["name"]), [])[:MOST]


def _calls(analysed: Run) -> dict[str, list[Json]]:
    """Calls of torch by their bare name, in each file the first: torch.cat and torch.Tensor.cat_ are `cat`."""
    calls: dict[str, list[Json]] = {}
    for file in analysed.files:
        for api, count, line in file.apis:
            if api.startswith(("torch.", "torch_npu.")):
                row = {"path": file.path, "line": line, "function": api, "codes": [], "by": "name", "calls": count}
                calls.setdefault(_plain(api), []).append(row)
    return calls


def _plain(name: str) -> str:
    """aten::index_select, torch.Tensor.index_select_ and IndexSelectV2 -> indexselect"""
    return _VERSION.sub("", name.rpartition("::")[2].rpartition(".")[2]).replace("_", "").lower()


def _of_stacks(profile: Profile, name: str, repository: Repository) -> list[Json]:
    """The innermost frame in the repository, by the time of what it calls."""
    times: dict[tuple[str, int], float] = {}
    found: dict[tuple[str, int], Json] = {}
    for stack, time in profile.torch[name].stacks.items() if name in profile.torch else ():
        for file, line, function in frames(stack):
            spot = repository.spot(Frame(file, line, function))
            if spot is not None:
                key = (spot.path, spot.line)
                times[key] = times.get(key, 0.0) + time
                codes = [place.code for place in repository.at([spot])]
                found[key] = {"path": spot.path, "line": spot.line, "function": function, "codes": codes, "by": "stack"}
                break
    best = sorted(found, key=lambda key: (-times[key], key))[:MOST]
    steps = profile.steps or 1
    return [found[key] | {"time": round(times[key] / steps, 3)} for key in best]


def _of_place(place: Place) -> Json:
    return {"path": place.path, "line": place.line, "code": place.code, "message": place.message.partition("\n")[0]}
