"""The report for people who were not there: one page that needs no network and no script to be read."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, partial

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from porter.files.documents import Json
from porter.regex import lazy
from porter.report import support
from porter.report.advice import of_standing
from porter.report.colours import coloured, runs
from porter.report.compiled_pages import Compiled
from porter.report.links import Links
from porter.report.page import STATES, TOP, context, project, unmarked
from porter.report.read import Templates
from porter.report.sanitise import line, shown
from porter.report.work import amount
from porter.resources import templates_dir
from porter.rulebook.table import LANGUAGES
from porter.rulebook.words import speaker

phrase = speaker("page")

_CODE = lazy(r"`([^`\n]+)`")
# for a whole text; inside a sentence it would take the full stop, too
_LINK = lazy(r"https://[\w.~:/?#@!$&'()*+,;=%-]+")
TAGS = {"en": "en", "zh": "zh-Hans"}


def render(document: Json) -> str:
    return index(document, Links(document))


def index(document: Json, links: Links) -> str:
    """`links` may lead to pages of the files, which stand beside this one: porter.report.pages."""
    page = context(document, links)
    page |= {key: Markup(page[key]) for key in ("data", "paper")}
    return templates(document, links).get_template("report.html.j2").render(page) + "\n"


def templates(document: Json, links: Links) -> Environment:
    of_report = world(document["language"], project(document))
    of_report.globals |= {
        "message": partial(_message, Templates(document)),
        "support": _support,
        "amount": _amount,
        "severity": support.severity,
        "source": links.of,
        "paged": links.pages,
        "states": STATES,
        "top": TOP,
    }
    return of_report


def world(lang: str, project: Json) -> Environment:
    """What every page is made with: templates, both languages, the styles."""
    folder = templates_dir()

    @cache
    def text_of(name: str) -> Markup:
        return Markup((folder / name).read_text("utf-8"))

    # given outright: what chooses by a file's suffix does not see HTML in report.html.j2
    made = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        bytecode_cache=Compiled(__file__),
        optimized=False,  # else what filters make of constants would be compiled, too
    )
    made.globals |= {
        "t": _phrases,
        "both": both_texts,
        "label": partial(label_of, phrase),
        "of_standing": of_standing,
        "code": _code,
        "rows": _coloured,
        "colon": both_texts({"en": ": ", "zh": "："}),
        "comma": both_texts({"en": ", ", "zh": "，"}),
        "url": _url,
        "paged": {},
        "lang": lang,
        "tag": TAGS[lang],
        "project": project,
        "texts": lambda *names: Markup("\n").join(map(text_of, names)),
    }
    made.filters |= {"shown": shown, "line": line, "spans": _spans}
    return made


def of_room(template: str, say: Callable[..., str], title: str, lang: str, shown_there: Json) -> str:
    """A page that is of no one repository. `title`: a key of the room's words."""
    made = world(lang, {"name": "", "commit": ""})
    with_words(made, say)
    titles = [say(title, one) for one in LANGUAGES]
    data = Markup(unmarked({"findings": [], "words": {}, "title": titles, "project": ""}))
    return made.get_template(template).render({"title": say(title, lang), "data": data, **shown_there}) + "\n"


def with_words(made: Environment, say: Callable[..., str]) -> None:
    """`s` and `label_of` of its templates are the words of a room."""
    made.globals["s"] = lambda key, **values: both_texts({one: say(key, one, **values) for one in LANGUAGES})
    made.globals["label_of"] = partial(label_of, say)


def by_language(lists: Iterable[Iterable[str]]) -> list[dict[str, str]]:
    """Texts in both languages, of a list for each."""
    return [dict(zip(LANGUAGES, texts)) for texts in zip(*lists)]


def both_texts(texts: dict[str, str], paragraphs: bool = False) -> Markup:
    """A text in both languages, of which the page shows one.

    `paragraphs`: for porter's own long texts (rules, advice, route), which hold no words of the repository. Short texts
    and messages may.
    """
    shown_ones = (_prose(texts[lang], lang) if paragraphs else _spans(texts[lang]) for lang in LANGUAGES)
    kind = "div" if paragraphs else "span"
    return Markup("").join(
        Markup(f'<{kind} lang="{TAGS[lang]}">{{}}</{kind}>').format(text) for lang, text in zip(LANGUAGES, shown_ones)
    )


def _phrases(key: str, **values: object) -> Markup:
    return both_texts({lang: phrase(key, lang, **values) for lang in LANGUAGES})


def label_of(say: Callable[..., str], key: str, lang: str, **values: object) -> Markup:
    """For attributes, which the script renews when the language changes."""
    en, zh = (say(key, language, **values).replace("`", "") for language in LANGUAGES)
    return Markup('aria-label="{}" data-en="{}" data-zh="{}"').format(zh if lang == "zh" else en, en, zh)


def _spans(text: str) -> Markup:
    """`x` is code."""
    parts = _CODE.split(shown(text))
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))


def _prose(text: str, lang: str) -> Markup:
    join = "" if lang == "zh" else " "
    blocks = [join.join(block.splitlines()) for block in re.split(r"\n\s*\n", text.strip())]
    return Markup("").join(Markup("<p>{}</p>").format(_spans(block)) for block in blocks)


def _code(text: str) -> Markup:
    """An example, coloured."""
    rows = tuple(shown(row) for row in text.strip("\n").split("\n"))
    return _coloured(list(zip(rows, coloured("x.py", rows))))


def _coloured(rows: list[tuple[str, str]]) -> Markup:
    lines = []
    for text, colours in rows:
        pieces = ((kind, text[start:end]) for kind, start, end in runs(text, colours))
        lines.append(Markup("").join(p if kind == "." else Markup('<span class="t-{}">{}</span>').format(kind, p)
                                     for kind, p in pieces))  # fmt: skip
    return Markup("\n").join(lines)


def _message(templates: Templates, finding: Json, alone: bool = True) -> Markup:
    """Of one finding, in both languages."""
    texts = {lang: templates.of(finding, lang, alone) for lang in LANGUAGES}
    values = {key: line(value) for key, value in finding["values"].items()}
    filled = {lang: re.sub(r"\{([a-z_]+)\}", lambda m: values.get(m[1], m[0]), texts[lang]) for lang in LANGUAGES}
    return both_texts(filled)


def _support(make: str, *values: object) -> Markup:
    """What porter.report.support makes of something, in both languages."""
    texts = {lang: getattr(support, make)(*values, lang) for lang in LANGUAGES}
    return both_texts({lang: text if isinstance(text, str) else "; ".join(text) for lang, text in texts.items()})


def _amount(minutes: list[int]) -> Markup:
    return both_texts({lang: amount(minutes, lang) for lang in LANGUAGES})


def _url(text: str | None) -> str:
    """Only what is plainly a web address becomes a link."""
    return text if text and _LINK.fullmatch(text) else ""
