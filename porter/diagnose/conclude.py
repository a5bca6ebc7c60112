"""What a log comes to: causes with their places and cures, the likeliest first, or honestly nothing."""

from __future__ import annotations

from dataclasses import dataclass, field

from porter.diagnose.repository import Place, Repository, Spot
from porter.diagnose.scan import Log, Sighting
from porter.diagnose.symptoms import Symptom, symptoms
from porter.diagnose.traces import Error
from porter.files.documents import Json
from porter.logs.clean import shown
from porter.rulebook.texts import RuleText, Texts, fill

KINDS = ("cause", "effect", "hint")
# errors that only report another one, or an end: left out beside a named cause or a rank that waits
_REPORTS = frozenset(
    """ChildFailedError ProcessRaisedException ProcessExitedException CalledProcessError RayTaskError ActorDiedError
    WorkerCrashedError KeyboardInterrupt SystemExit BrokenPipeError ConnectionResetError SignalException""".split()
)


@dataclass
class Evidence:
    line: int
    text: str
    count: int = 1
    ranks: tuple[int, ...] = ()


@dataclass
class Answer:
    name: str  # of a [[cause]], or a code
    kind: str
    title: dict[str, str]
    why: dict[str, str]
    cure: dict[str, str]
    evidence: list[Evidence]
    codes: tuple[str, ...] = ()
    spots: list[Spot] = field(default_factory=list)  # of the traceback, in the repository
    places: list[Place] = field(default_factory=list)
    finding_count: int = 0  # how many findings there are of these codes
    occurring: tuple[str, ...] = ()  # which of them have one
    reference: str = ""
    has_stanza: bool = True  # a [[cause]] of its own; not the symptom of a rule
    package: str = ""  # that is not there
    general: bool = False  # what many things lead to: where something more exact is known as well, that comes first


@dataclass
class Diagnosis:
    answers: list[Answer]
    errors: list[Error]  # that no answer explains
    spots: dict[int, list[Spot]]  # of an unexplained error, by its line in the log
    log: Log
    repository: Repository | None

    @property
    def known(self) -> bool:
        return any(answer.kind == "cause" for answer in self.answers) or bool(
            self.answers and not self.errors and not self.log.last_error and self.answers[0].kind == "hint"
        )


def conclude(log: Log, texts: Texts, repository: Repository | None) -> Diagnosis:
    causes = texts.named("causes")
    by_name: dict[str, Answer] = {}
    explained: set[int] = set()
    for (name, _), sighting in sorted(log.sightings.items(), key=lambda item: (not item[0][0], item[1].line, item[0])):
        if name and _counts(causes[name], log):
            by_name[name] = _of_cause(causes[name], sighting, repository)
            if causes[name]["kind"] == "cause" and sighting.error:
                explained.add(id(sighting.error))
    _symptoms_of_rules(log, texts, repository, by_name, explained)
    for symptom in symptoms(log.numbers):
        by_name[symptom.cause] = _of_series(causes[symptom.cause], symptom, repository)
    waiting = [answer for answer in by_name.values() if causes.get(answer.name, {}).get("waits")]
    unexplained = [error for error in log.tracebacks.errors if not any(id(e) in explained for e in error.chain)]
    first = _failed_first(unexplained, waiting, log)
    if first or len(waiting) < sum(answer.kind == "cause" for answer in by_name.values()):
        for answer in waiting:  # who waits for another rank that failed tells of a consequence
            answer.kind = "effect"
    answers = sorted(by_name.values(), key=_order)
    named = any(answer.kind == "cause" for answer in answers)
    if named or first:
        answers = [answer for answer in answers if answer.kind != "effect" or answer in waiting]
    if named:
        # an error after all that is explained may be one of its own
        last_line = max(answer.evidence[0].line for answer in answers)
        errors = [error for error in _unknown(unexplained, log) if error.line > last_line][-1:]
    else:
        errors = first or sorted(unexplained, key=lambda error: -error.line)[:3]
    spots = {error.line: _spots(error, repository) for error in errors}
    return Diagnosis(answers, errors, spots, log, repository)


def _order(answer: Answer) -> tuple[int, bool, bool, int, str]:
    return KINDS.index(answer.kind), answer.general, not answer.has_stanza, answer.evidence[0].line, answer.name


def _failed_first(unexplained: list[Error], waiting: list[Answer], log: Log) -> list[Error]:
    """Errors that porter does not know, of ranks that the waiting ones may have waited for."""
    failed = []
    for error in _unknown(unexplained, log):
        for answer in waiting:
            evidence = answer.evidence[0]
            other = error.rank is not None and evidence.ranks and error.rank not in evidence.ranks
            if other or error.rank is None and not evidence.ranks and error.line < evidence.line:
                failed.append(error)
                break
    return failed[:3]


def _unknown(unexplained: list[Error], log: Log) -> list[Error]:
    """Without those that report another one, or that a line is known of."""
    linked = {id(sighting.error) for sighting in log.sightings.values()}
    return [e for e in unexplained if id(e) not in linked and e.kind.rpartition(".")[2] not in _REPORTS]


def _counts(cause: Json, log: Log) -> bool:
    return log.npu or not cause.get("npu")


def _of_cause(cause: Json, sighting: Sighting, repository: Repository | None) -> Answer:
    spots = _spots(sighting.error, repository)
    codes = tuple(cause.get("codes", ()))
    return _placed(
        Answer(
            cause["name"],
            cause["kind"],
            cause["title"],
            cause["why"],
            cause["cure"],
            [_evidence(sighting)],
            codes,
            spots,
            reference=cause.get("reference", ""),
            package=sighting.meaning.package,
            general=cause.get("general", False),
        ),
        repository,
    )


def _of_series(cause: Json, symptom: Symptom, repository: Repository | None) -> Answer:
    title, why = (
        {lang: fill(text, symptom.values, cause["name"]) for lang, text in cause[key].items()}
        for key in ("title", "why")
    )
    evidence = [Evidence(symptom.point.line, shown(symptom.point.text), symptom.times)]
    codes = tuple(cause.get("codes", ()))
    general = cause.get("general", False)
    answer = Answer(cause["name"], cause["kind"], title, why, cause["cure"], evidence, codes, general=general)
    return _placed(answer, repository)


def _symptoms_of_rules(
    log: Log, texts: Texts, repository: Repository | None, by_name: dict[str, Answer], explained: set[int]
) -> None:
    """A rule's own symptom: joins the cause that the same line stands for, or is a cause of its own."""
    by_line: dict[int, list[Sighting]] = {}
    for (_, code), sighting in sorted(log.sightings.items()):
        if code:
            by_line.setdefault(sighting.line, []).append(sighting)
    for line, sightings in sorted(by_line.items()):
        codes = tuple(dict.fromkeys(sighting.meaning.code for sighting in sightings))
        joined = next((a for a in by_name.values() if a.evidence[0].line == line and a.kind != "effect"), None)
        if joined:
            joined.codes += tuple(code for code in codes if code not in joined.codes)
            _placed(joined, repository)
            continue
        spots = _spots(sightings[0].error, repository)
        sure_codes = tuple(s.meaning.code for s in sightings if s.meaning.is_of_port or s.meaning.spoken)
        places = repository.of(codes, spots) if repository and spots else []
        files = {spot.path for spot in spots}
        backed = tuple(dict.fromkeys(place.code for place in places if place.path in files))
        codes = tuple(dict.fromkeys(backed + sure_codes))
        if codes:
            answer = _of_rule(texts.rule(codes[0]), codes, sightings[0], spots)
            by_name[codes[0]] = _placed(answer, repository)
            if sightings[0].error:
                explained.add(id(sightings[0].error))


def _of_rule(rule: RuleText, codes: tuple[str, ...], sighting: Sighting, spots: list[Spot]) -> Answer:
    # written in lines; Chinese ones join without a space
    glue = {"en": " ", "zh": ""}
    first = {lang: glue[lang].join(text.split("\n\n")[0].splitlines()) for lang, text in rule.explain.items()}
    evidence = [_evidence(sighting)]
    return Answer(
        rule.code,
        "cause",
        rule.title,
        first,
        {},
        evidence,
        codes,
        spots,
        reference=rule.sources.reference,
        has_stanza=False,
    )


def _placed(answer: Answer, repository: Repository | None) -> Answer:
    if repository:
        places = repository.of(answer.codes, answer.spots)
        at_frames = repository.at(answer.spots)
        exact = [place for place in places if place in at_frames]
        answer.places, answer.finding_count = list(dict.fromkeys([*exact, *at_frames, *places]))[:3], len(places)
        occurring = {place.code for place in places}
        answer.occurring = tuple(code for code in answer.codes if code in occurring)
    return answer


def _evidence(sighting: Sighting) -> Evidence:
    return Evidence(sighting.line, shown(sighting.text), sighting.count, tuple(sorted(sighting.ranks)))


def _spots(error: Error | None, repository: Repository | None) -> list[Spot]:
    """Frames in the repository, the innermost last; of the whole chain."""
    if error is None or repository is None:
        return []
    spots = [spot for cause in error.chain for frame in cause.frames if (spot := repository.spot(frame))]
    return list(dict.fromkeys(spots))[-10:]
