"""Strings that are devices: "cuda", "cuda:0", f"cuda:{rank}", "cuda:%d" % rank, "cuda:{}".format(rank)."""

from __future__ import annotations

import ast

from porter.checks.described import described
from porter.checks.device.base_class import package_below
from porter.checks.device.cut_to_length import length, shortened
from porter.checks.device.kept_comparisons import is_compared_device, kept_as_it_is
from porter.checks.device.offered import enum_behind, offered
from porter.checks.device.summarised import is_summarised
from porter.engine.rule import TOGETHER, Answer, Hit, Rule, cst
from porter.engine.rule_file import RuleFile
from porter.native.gpu_tests import needed
from porter.native.guarded import guarded
from porter.native.required import lost
from porter.python.autocast_states import given_state
from porter.python.build_scripts import builds_extensions
from porter.python.cases import guarded as guarded_case
from porter.python.described_devices import is_of_generation
from porter.python.handed_on import given_to, taken_by, tried_with
from porter.python.kernel_branches import without_way
from porter.python.lightning_choices import of_side
from porter.python.own_words import compared_setting, is_name_of_kernels, kernel_of_key
from porter.python.searched_texts import is_searched
from porter.python.simulated_devices import simulator_of

CODES = {"compared": "PRT122", "stripped": "PRT122", "case": "PRT122", "option": "PRT123"}
NAMED = ("assigned", "default", "option", "compared", "mapped")  # where a name holds the value, which takes it on
_OPTION = "PRT123"
OFFERED = ("PRT122", _OPTION)  # beside which a text may name the value


class DeviceLiteral(Rule):
    code = "PRT120"
    literals = {"device"}

    def visit(self, original: cst.BaseString, updated: cst.BaseString, file: RuleFile) -> Answer:
        literal = file.literal(original)
        if literal is None or literal.role in ("choices", "saved"):  # a matter of the whole list or dict
            return None
        if literal.role == "member":  # all that is parsed into it or compared with it goes along
            return Hit(original, "member", values=(("old", file.text(original)), ("new", f'"{file.target.device}"')))
        code = CODES.get(literal.role, self.code)
        why = literal.role if code != self.code else "literal"
        values: tuple[tuple[str, str], ...] = (("old", file.text(original)),)
        if literal.role in (*NAMED, "argument") and builds_extensions(file):
            return Hit(original, "names-sources", values=values)
        script = None
        if literal.role == "option" and isinstance(original, cst.SimpleString):
            old = str(original.evaluated_value)
            script = next((s for o in file.around.options(original) if (s := file.facts.launch.passes(o, old))), None)
        if file.meaning.refuses(original):
            return Hit(original, "refused", values=values)
        if end := needed(file, literal.link):
            return Hit(original, "tested", values=(*values, ("what", end), (TOGETHER, end)))
        if literal.role == "argument" and is_of_generation(literal.link, file):  # PRT110 speaks of the call
            return None
        if literal.role == "argument" and is_searched(file, literal.link):
            return Hit(original, "searched", values=values)
        if literal.role == "argument" and (asked := given_state(file, literal.link)):
            return Hit(original, "autocast", values=(*values, ("what", asked)))
        if is_summarised(file, literal.link):
            severity = "note" if literal.link[1][0].__class__ is ast.IfExp else None  # without a GPU, it is the CPU
            return Hit(original, "summarised", values=values, severity=severity)
        if package := lost(file):
            return Hit(original, "beside-lost", values=(("name", package),))
        if literal.role == "argument" and (package := tried_with(file.names, literal.link)):
            return Hit(original, "of-a-trial", values=(*values, ("library", package), (TOGETHER, package)))
        given = given_to if literal.role in NAMED else taken_by if literal.role == "argument" else None
        if library := simulator_of(file, literal.link) or given and given(file.names, literal.link):
            severity = "note" if literal.link[1][0].__class__ is ast.IfExp else None  # without a GPU, another is taken
            return Hit(original, "of-a-library", values=(*values, ("library", library)), severity=severity, code=code)
        kernel = (file.meaning.kernel(original) or guarded(file, literal.link)) if literal.role == "compared" else None
        is_compared = literal.role == "compared" or is_compared_device(literal.link)
        if is_compared and (kept := kept_as_it_is(file, literal.link)):
            return Hit(original, kept[0], values=(*values, kept[1:]), code=CODES["compared"])
        stays = file.meaning.decides(original) if is_compared else None
        if stays and stays[0] != "opens":
            return Hit(original, stays[0], values=(*values, ("what", stays[1])), code=CODES["compared"])
        if kernel and is_name_of_kernels(literal.link):
            return None
        if kernel:
            why = "taken" if file.path in file.facts.native.taken else "kernel"
            return Hit(original, why, values=(*values, ("kernel", kernel), (TOGETHER, without_way(kernel))), code=code)
        if beside := kernel_of_key(file, literal.link):
            shared = (("kernel", beside), (TOGETHER, "of-kernels"))
            return Hit(original, "of-kernels", values=(*values, *shared), code=self.code)
        if literal.role == "compared" and (package := package_below(literal.link, file)):
            shared = (("package", package), (TOGETHER, package))
            return Hit(original, "of-a-base", values=(*values, *shared), code=code)
        if literal.role == "compared" and not literal.certain and (key := compared_setting(file, literal.link)):
            return Hit(original, "of-a-setting", values=(*values, ("name", key)), code=code)
        new = file.style.device(updated, file)
        in_case = literal.role == "case" and new is None
        if in_case and (guard := guarded_case(literal.link, file.style.type_name(file), file)):
            why += "" if literal.certain else "-uncertain"
            return Hit(original, why, safe=literal.certain, values=values, more=guard, code=code)
        if new is None:
            why = "concatenated" if isinstance(original, cst.ConcatenatedString) else "unwritten"
        elif script:
            why, values = "option-passed", (*values, ("script", script))
        elif not literal.certain or of_side(file, literal.link):  # a question that waits for review is edited with it
            why = "uncertain" if why == "literal" else f"{why}-uncertain"
        if why == "uncertain" and (enum := enum_behind(literal.link, file)):
            return Hit(original, "of-an-enum", severity="note", values=(*values, ("path", enum)))
        if why == "compared" and stays:
            why, values = stays[0], (*values, ("what", stays[1]))
        safe = literal.certain and script is None and why not in ("opens", "uncertain")
        code = self.code if new is None else code
        more = offered(literal.link, file) if code in OFFERED and isinstance(new, cst.SimpleString) else ()
        if isinstance(new, cst.SimpleString):
            more = (*more, *described(literal.link, str(new.evaluated_value), file))
        if new is not None and (number := length(literal.link)) is not None:
            if not isinstance(new, cst.SimpleString):
                return Hit(original, "unwritten", values=values)
            more = (*more, shortened(number, str(new.evaluated_value), file))
        # the program that offers an option hands it to torch, perhaps in a file without an edit
        loads = code == self.code or code == _OPTION and file.names.torch is not None
        return Hit(original, why, new=new, safe=safe, values=values, more=more, code=code, loads=loads)
