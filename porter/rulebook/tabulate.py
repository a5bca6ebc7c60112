"""The stanzas of all files joined into the tables and the prose: nothing but dicts, lists, tuples and strings."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from porter.rulebook.compiled import Section
from porter.rulebook.effort import NAMES
from porter.rulebook.errors import RuleError
from porter.rulebook.gone import gone
from porter.rulebook.opening import opening
from porter.rulebook.schema import read
from porter.rulebook.table import FLAGS, LANGUAGES, Stanza
from porter.versions import canonical, release

_NAMED = {"signal": "signals", "route": "routes", "step": "steps", "release": "releases", "effort": "efforts"}
_OTHER_PROSE = ("exports", "causes", "limits", "npu_variables", "steps_of")
_RULE_TEXT = ("title", "explain", "symptom", "reference", "before", "after", "by_hand")


def build(files: Iterable[tuple[str, bytes]]) -> dict[str, Section]:
    """`{"tables": ..., "prose": ..., "gate": ...}` of (name, bytes) pairs."""
    stanzas = [item for name, data in files for item in read(name, data)]
    work = _Joined()
    for kind, where, stanza in sorted(stanzas, key=lambda item: item[0] != "rule"):  # codes before those who name them
        work.take[kind](where, stanza)
    work.complete()
    return {"tables": work.tables, "prose": work.prose, "gate": opening(stanzas)}


def _listed(value: str | list[str]) -> list[str]:
    return value if isinstance(value, list) else [value]


class _Joined:
    def __init__(self) -> None:
        by_name = "rules moves variables parameters packages options hints wheels pins"
        self.tables: dict[str, Any] = {key: {} for key in by_name.split()}
        self.tables |= {key: [] for key in ("sinks", "settings", "kernels", "roads")}
        self.prose: dict[str, dict[str, Any]] = {
            key: {} for key in ("rules", "examples", *_NAMED.values(), *_OTHER_PROSE)
        }
        self._slugs: dict[str, str] = {}
        self.take: dict[str, Callable[[str, Stanza], None]] = {
            "rule": self._code,
            "namespace": self._namespace,
            "api": self._api,
            "sink": self._sink,
            "variable": self._variable,
            "parameter": self._parameter,
            "package": self._package,
            "option": self._option,
            "setting": self._setting,
            "kernel": self._kernel,
            "road": self._road,
            "hint": self._hint,
            "wheels": self._wheels,
            "with_torch": self._with_torch,
            "backport": lambda w, s: self._put(
                "pins", w, f"backport:{canonical(s['name'])}", ((s["since"], s["last"]),)
            ),
            "gone": self._gone,
            "cause": partial(self._of_codes, "causes"),
            "limit": self._limit,
            "npu_variable": self._npu_variable,
            "effort": partial(self._of_codes, "efforts"),
            "export": lambda where, s: self._named("exports", where, s | {"name": s["variable"]}),
        }
        for kind, section in _NAMED.items():
            self.take.setdefault(kind, partial(self._named, section))

    def _code(self, where: str, s: Stanza) -> None:
        code, slug = s["code"], s["slug"]
        if code in self.tables["rules"]:
            raise RuleError(f"{where}: the code {code} is taken by {self.tables['rules'][code]['slug']!r}")
        if slug in self._slugs:
            raise RuleError(f"{where}: the slug {slug!r} is taken by {self._slugs[slug]}")
        self._slugs[slug] = code
        weight = {
            key: (m.get("severity", s["severity"]), m.get("effort", s["effort"])) for key, m in s["message"].items()
        }
        self.tables["rules"][code] = {
            **{key: s[key] for key in ("slug", "severity", "effort")},
            "default": s.get("default", "on"),
            "quotes": s.get("quotes", False),
            "messages": weight,
            "across": s.get("across", ""),
            "joined": {key: m["joined"] for key, m in s["message"].items() if "joined" in m},
            **{
                flag: {key: m[flag] for key, m in s["message"].items() if flag in m} | {"": s.get(flag, False)}
                for flag in FLAGS
            },
        }
        self.prose["rules"][code] = {key: s.get(key) for key in _RULE_TEXT} | {
            "messages": {key: {lang: m[lang] for lang in LANGUAGES} for key, m in s["message"].items()},
            "symptoms": {key: m["symptom"] for key, m in s["message"].items() if "symptom" in m},
            "references": {},
            "known": (s.get("grade", ""), s.get("evidence", "")),
            "knowns": {},
        }

    def _namespace(self, where: str, s: Stanza) -> None:
        rule = self._rule(where, s)
        why, weight = self._why(where, s, ""), self._weight(rule, s, "default")
        head = f"{s['under']}." if "under" in s else ""
        for name in s["names"]:
            self._put(
                "moves", where, f"{s['from']}.{head}{name}", (s["code"], head + name, "safe", *weight, why, False)
            )

    def _api(self, where: str, s: Stanza) -> None:
        rule, names = self._rule(where, s), _listed(s["match"])
        why = self._why(where, s, names[0])
        weight = self._weight(rule, s, why)
        row = (s["code"], s.get("to"), s.get("fix"), *weight, why, s.get("stays", False))
        for name in names:
            self._put("moves", where, name, row)
            self.prose["examples"][name] = s["example"]
            self._know(s, name)

    def _know(self, s: Stanza, name: str) -> None:
        if "evidence" in s:
            self.prose["rules"][s["code"]]["knowns"][name] = (s.get("grade", ""), s["evidence"])

    def _variable(self, where: str, s: Stanza) -> None:
        rule, names = self._rule(where, s), _listed(s["match"])
        why = self._why(where, s, names[0])
        weight = self._weight(rule, s, why)
        if "quiet" in s and ("to" in s or "quiet" not in rule["messages"]):
            raise RuleError(f"{where}: 'quiet' is for what has no 'to', and {s['code']} needs a message of that name")
        values = (s.get("value", "keep"), s.get("takes", ""), s.get("quiet", ""))
        if ("older" in s) != ("older_for" in s):
            raise RuleError(f"{where}: 'older' and 'older_for' say one thing together")
        older = s.get("older", ""), tuple(s.get("older_for", ()))
        row = (s["code"], s.get("to"), *values, s.get("fix"), *weight, why, *older)
        for name in names:
            self._put("variables", where, name, row)
            self._know(s, name)

    def _parameter(self, where: str, s: Stanza) -> None:
        rule, names = self._rule(where, s), _listed(s["match"])
        why = self._why(where, s, f"{names[0]}()")
        weight = self._weight(rule, s, why)
        changed = s.get("rename", {}), tuple(s.get("remove", ()))
        row = s["code"], *changed, s.get("fix"), *weight, why, s.get("positional")
        for name in names:
            self._put("parameters", where, name, row)
            if "example" in s:
                self.prose["examples"][f"{name}()"] = s["example"]

    def _package(self, where: str, s: Stanza) -> None:
        rule, names = self._rule(where, s), _listed(s["import"])
        why = self._why(where, s, names[0]) if "message" in s else ""
        severity, _ = self._weight(rule, s, why)
        more = tuple(_listed(s.get("replacement", []))), tuple(_listed(s.get("name", names[0].replace("_", "-"))))
        host = tuple(_listed(s["on_host"])) if "on_host" in s else None, tuple(_listed(s.get("methods", [])))
        versions = s.get("breaks_with", ""), s.get("plain_before", ""), s.get("mended_in", "")
        used = tuple(_listed(s.get("anywhere", []))), *host, s.get("device"), versions
        raised = s.get("changed_at", ""), s.get("wants", ""), tuple(tuple(a.split(">=")) for a in s.get("asks", []))
        first = s.get("since"), tuple(s.get("beside", {}).items()), raised
        for name in names:
            told_as = name if "{name}" in s.get("message", {"en": "{name}"})["en"] else names[0]
            row = s["code"], s["status"], *first, *more, *used, severity, why, (told_as, s.get("module", ""))
            self._put("packages", where, name, row)
            if "steps" in s:
                self.prose["steps_of"][name] = s["steps"]

    def _option(self, where: str, s: Stanza) -> None:
        rule, keywords = self._rule(where, s), _listed(s["keyword"])
        values = tuple(_listed(s["value"]))
        why = self._why(where, s, f"{keywords[0]}={values[0]}")
        weight = self._weight(rule, s, why)
        unmet = ""
        if "unmet" in s:
            unmet = self._why(where, {"code": s["code"], "message": s["unmet"]}, f"{why} unmet")
        calls, beside = (tuple(_listed(s.get(key, []))) for key in ("call", "beside"))
        row = (s["code"], values, calls, s.get("to"), beside, s.get("met"), unmet, *weight, why)
        for keyword in keywords:
            self.tables["options"].setdefault(keyword, []).append(row)

    def _setting(self, where: str, s: Stanza) -> None:
        rule, keys = self._rule(where, s), tuple(_listed(s.get("key", [])))
        message_key = base = (keys[0] if keys else s["kind"]).replace("*", "any")
        taken = self.prose["rules"][s["code"]]["messages"]
        for number in range(2, 100):
            message_key = message_key if message_key not in taken else f"{base}-{number}"
        why = self._why(where, s, message_key)
        weight = self._weight(rule, s, why)
        lists = tuple(tuple(_listed(s.get(key, []))) for key in ("except", "under", "beside", "yields", "file"))
        edit = (s.get("replace", "value"), s.get("to"), s.get("fix"))
        self.tables["settings"].append((s["code"], s.get("kind", ""), keys, s["value"], *lists, *edit, *weight, why))

    def _kernel(self, where: str, s: Stanza) -> None:
        """One cure, for the source of the kernel and for the Python that calls it."""
        for code, rule in self.tables["rules"].items():
            messages = self.prose["rules"][code]["messages"]
            if "known" in messages and all("{cure}" in text for text in messages["known"].values()):
                if s["name"] in messages:
                    raise RuleError(f"{where}: {code} already has a message called {s['name']!r}")
                messages[s["name"]] = {k: messages["known"][k].replace("{cure}", s["message"][k]) for k in LANGUAGES}
                rule["messages"][s["name"]] = self._weight(rule, s["message"], "known")
        replacement = tuple(_listed(s.get("replacement", [])))
        self.tables["kernels"].append((s["match"], replacement, s["name"], s.get("composed", False)))

    def _road(self, where: str, s: Stanza) -> None:
        for name in s["import"]:
            if name in self.tables["roads"]:
                raise RuleError(f"{where}: {name} stands there twice")
            self.tables["roads"].append(name)

    def _hint(self, where: str, s: Stanza) -> None:
        if s["kind"] in self.tables["hints"]:
            raise RuleError(f"{where}: {s['kind']} stands there twice")
        self.tables["hints"][s["kind"]] = tuple(s["words"])

    def _wheels(self, where: str, s: Stanza) -> None:
        firsts = tuple(sorted(s.get("first", {}).items(), key=lambda pair: release(pair[0])))
        for name in map(canonical, s["name"]):
            self._put("wheels", where, name, firsts)
            for key in sorted(s.keys() & {"aarch64", "last"}):
                rows = tuple(s[key].items()) if key == "last" else (("", s[key]),)
                self._put("pins", where, f"{key}:{name}", rows)

    def _gone(self, where: str, s: Stanza) -> None:
        for name, row in gone(where, s).items():
            self._put("pins", where, name, row)

    def _with_torch(self, where: str, s: Stanza) -> None:
        firsts = tuple(sorted(s["first"].items(), key=lambda pair: release(pair[0])))
        self._put("pins", where, f"{s['kind']}:{canonical(s['name'])}", firsts)

    def _sink(self, where: str, s: Stanza) -> None:
        calls, methods, keywords = (tuple(s.get(key, ())) for key in ("call", "method", "keyword"))
        self.tables["sinks"].append((s["kind"], calls, methods, s.get("position"), keywords))

    def _of_codes(self, section: str, where: str, s: Stanza) -> None:
        for code in s.get("codes", ()):
            self._rule(where, {"code": code})
        self._named(section, where, s)

    def _limit(self, where: str, s: Stanza) -> None:
        for name in s["match"]:
            self.prose["limits"].setdefault(name, []).append({key: s[key] for key in s if key != "match"})

    def _npu_variable(self, where: str, s: Stanza) -> None:
        for name in s["match"]:
            if name in self.prose["npu_variables"]:
                raise RuleError(f"{where}: {name} stands there twice")
            self.prose["npu_variables"][name] = s

    def complete(self) -> None:
        """Assumptions are added up: one that is missing would make a port cheaper without a word."""
        known = self.prose["efforts"]
        if known and (missing := [name for name in NAMES if name not in known]):
            raise RuleError(f"rules/effort.toml: no [[effort]] has the name {missing[0]!r}")

    def _named(self, section: str, where: str, s: Stanza) -> None:
        """Stanzas of the report, in their order."""
        if ("pattern" in s) == ("import" in s) and section == "signals":
            raise RuleError(f"{where}: a signal has either 'pattern' or 'import'")
        if s["name"] in self.prose[section]:
            raise RuleError(f"{where}: the name {s['name']!r} is taken")
        self.prose[section][s["name"]] = s

    def _rule(self, where: str, s: Stanza) -> dict[str, Any]:
        if s["code"] not in self.tables["rules"]:
            raise RuleError(f"{where}: no [[rule]] has the code {s['code']}")
        rule: dict[str, Any] = self.tables["rules"][s["code"]]
        return rule

    def _why(self, where: str, s: Stanza, message_key: str) -> str:
        """The key of the message: the stanza's own, else the rule's default."""
        rule, prose = self.tables["rules"][s["code"]], self.prose["rules"][s["code"]]
        default = prose["messages"].get("default")
        if "message" not in s and default is None:
            raise RuleError(f"{where}: no message, and {s['code']} has no message called 'default'")
        if not message_key or not {"message", "symptom", "reference", "severity", "effort"} & s.keys():
            return "default"
        if message_key in prose["messages"]:
            raise RuleError(f"{where}: {s['code']} already has a message called {message_key!r}")
        prose["messages"][message_key] = {lang: s.get("message", default)[lang] for lang in LANGUAGES}
        for key in ("symptom", "reference"):
            if key in s:
                prose[f"{key}s"][message_key] = s[key]
        rule["messages"][message_key] = self._weight(rule, s.get("message", {}) | s, "default")
        if "inventory" in s:
            rule["inventory"][message_key] = s["inventory"]
        return message_key

    @staticmethod
    def _weight(rule: dict[str, Any], s: Stanza, why: str) -> tuple[str, str]:
        severity, effort = rule["messages"].get(why, (rule["severity"], rule["effort"]))
        return s.get("severity", severity), s.get("effort", effort)

    def _put(self, table: str, where: str, name: str, row: tuple[object, ...]) -> None:
        if name in self.tables[table]:
            raise RuleError(f"{where}: {name} is mapped twice")
        self.tables[table][name] = row
