"""`make rule SLUG=... FAMILY=... [CODE=PRT6xx]`: the stanza, the class and the fixture of a new rule, to fill in.

It stands with the tests as only a checkout can use it: rules/ and porter/ go into the wheel.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import NamedTuple, NoReturn

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from porter.rulebook import table  # noqa: E402  of this checkout, whatever is installed


class Family(NamedTuple):
    first: int  # codes
    last: int
    stanzas: str  # below rules/
    reads: str = ""  # of files that are not Python
    before: str = "before.py"  # of the fixture


FAMILIES = {  # folders of porter/checks
    "device": Family(101, 199, "device.toml"),
    "distributed": Family(201, 299, "distributed.toml"),
    "precision": Family(301, 349, "precision.toml"),
    "apex": Family(350, 399, "apex.toml"),
    "native": Family(401, 499, "native.toml"),
    "graphs": Family(501, 599, "graphs.toml"),
    "performance": Family(601, 699, "performance.toml"),
    "support": Family(701, 799, "support.toml"),
    "environment": Family(801, 819, "environment.toml"),
    "scripts": Family(820, 829, "launch.toml", "script", "before.sh"),
    "settings": Family(830, 839, "settings.toml", "settings", "before.yaml"),
    "requirements": Family(840, 849, "requirements.toml", "requirements", "before.requirements.txt"),
    "export": Family(901, 999, "export.toml"),
}

STANZA = """
[[rule]]
code = "{code}"
slug = "{slug}"
severity = "note"
effort = "minutes"
title = {{ en = "TODO what is found, in one line", zh = "TODO 一行说明发现了什么" }}
explain = {{ en = \"\"\"
TODO What the program does, and why that matters on Ascend NPUs.

TODO What to do instead.\"\"\", zh = \"\"\"
TODO 程序做了什么，在昇腾 NPU 上有什么影响。

TODO 应当如何修改。\"\"\" }}
before = '''
{example}'''
after = '''
{example}'''
[rule.message]
found = {{ en = "TODO say what to do about `{{name}}`", zh = "TODO 说明 `{{name}}` 应如何处理" }}
"""

PYTHON = '''\
"""`{called}(x)`: TODO what it does on an NPU."""

from __future__ import annotations

from porter.engine.rule import Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile


class {name}(Rule):
    code = "{code}"
    edits = False  # TODO leave it out where `visit` gives a `new`
    calls = {{"{called}"}}  # TODO the keys: CONTRIBUTING.md has an example of each

    def visit(self, original: cst.Call, updated: cst.Call, file: RuleFile) -> Answer:
        return Hit(original.func, "found", values=(("name", file.text(original.func)),))
'''

TEXT = '''\
"""`{called}`: TODO what it does on an NPU."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from porter.engine.rule import Hit, TextRule, named
from porter.text.document import Document

_SAID = re.compile(r"\\b{called}\\b")


class {name}(TextRule):
    code = "{code}"
    reads = "{reads}"

    def look(self, document: Document, tree: Any) -> Iterator[Hit]:
        for at in _SAID.finditer(document.text):  # TODO ask the tree, which knows comments and quotes
            yield Hit(at.span(), "found", values=named(name=at[0]))
'''

EXAMPLES = {  # settings and requirements say in the first line what they are called
    "": "import torch\n\nx = torch.ones(3)\ny = {called}(x)\n",
    "script": "set -e\npython train.py --device cuda\n{called}\n",
    "settings": "# config.yaml\ndevice: cuda\nname: {called}\n",
    "requirements": "# requirements.txt\ntorch==2.1.0\n{called}\n",
}


def refuse(text: str) -> NoReturn:
    sys.exit(f"make rule: {text}")


def next_code(family: Family, taken: set[str]) -> str:
    """After the last: a code that was given up is never used again."""
    number = max((int(code[3:]) for code in taken if family.first <= int(code[3:]) <= family.last), default=0)
    number = max(number + 1, family.first)
    if number > family.last:
        refuse(f"no code is free from PRT{family.first} to PRT{family.last}: choose one with CODE=")
    return f"PRT{number}"


def chosen(code: str, slug: str, name: str) -> tuple[str, Family]:
    """The code, and the family; ends with one line where they cannot be had."""
    if name not in FAMILIES:
        refuse(f"FAMILY={name} is none of {', '.join(FAMILIES)}")
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", slug):
        refuse(f"SLUG={slug} is no lower-case slug, as element-loop is: it names the thing found")
    rules, family = table.load().rules, FAMILIES[name]
    code = code.upper() or next_code(family, set(rules))
    if not re.fullmatch(r"PRT\d{3}", code) or not family.first <= int(code[3:]) <= family.last:
        refuse(f"CODE={code} is none of {name}: PRT{family.first} to PRT{family.last}")
    if code in rules:
        refuse(f"CODE={code} is taken by {rules[code]['slug']}")
    if other := next((other for other, rule in rules.items() if rule["slug"] == slug), None):
        refuse(f"SLUG={slug} is taken by {other}")
    return code, family


def write(code: str, slug: str, name: str) -> list[Path]:
    code, family = chosen(code, slug, name)
    module = slug.replace("-", "_")
    stanzas = ROOT / "rules" / family.stanzas
    rule = ROOT / "porter" / "checks" / name / f"{module}.py"
    before = ROOT / "tests" / "fixtures" / f"{code}_{module}" / family.before
    for path in (rule, before.parent):
        if path.exists():
            refuse(f"{path.relative_to(ROOT).as_posix()} is there already")
    called = f"todo_{module}" if family.reads else f"torch.todo_{module}"
    example = EXAMPLES[family.reads].format(called=called)
    said = {"code": code, "slug": slug, "called": called, "example": example, "reads": family.reads}
    said["name"] = "".join(word.capitalize() for word in slug.split("-"))
    with stanzas.open("a", encoding="utf-8", newline="\n") as file:
        file.write(STANZA.format(**said))
    rule.write_text((TEXT if family.reads else PYTHON).format(**said), encoding="utf-8", newline="\n")
    before.parent.mkdir()
    before.write_text(example, encoding="utf-8", newline="\n")
    return [stanzas, rule, before]


def main(code: str, slug: str, name: str) -> None:
    stanzas, rule, before = (path.relative_to(ROOT).as_posix() for path in write(code, slug, name))
    case = before.split("/")[-2]
    code = case.partition("_")[0]
    print(f"""{code} stands in
    {stanzas}  (the last stanza)
    {rule}
    {before}

Next, with CONTRIBUTING.md:
 1. {before}: what the rule finds, and twice as much that it must leave alone.
 2. {rule}: its keys, and what it answers.
 3. {stanzas}: every TODO, in both languages.
 4. make test ARGS="tests/checks/test_fixtures.py -k {case} --accept"   then look at git diff
 5. make test ARGS="tests/checks tests/text -k {code}"   refuses what is still TODO
 6. make test ARGS="tests/checks/test_rules.py -k page_of_rules --accept"   renews docs/rules.md and docs/rules.zh.md""")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        refuse("SLUG=... FAMILY=... [CODE=PRT6xx]")
    main(*sys.argv[1:])
