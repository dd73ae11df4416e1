"""Makes small Jinja templates by a grammar, and writes what jinja2 makes of them in transformers' environment.

    python templates.py --seed 1 --count 500 > test/fixtures/jinja-grammar.json

A line is `[template, text]`, or `[template, null]` where jinja2 raises an error. Needs jinja2 3.1.6.
"""

import argparse
import copy
import json
import random
import re
import resource
import warnings

import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

CONTEXT = {
    "name": "Ada",
    "text": "héllo wORLD 😀 it's",
    "lines": "  a\n\n b\t\nc  ",
    "n": 7,
    "m": -3,
    "x": 2.5,
    "yes": True,
    "nothing": None,
    "nums": [3, 1, 2, 1],
    "mixed": ["b", "A", "a", 1, None, 1.5, True],
    "words": ["pear", "Fig", "😀", "fig"],
    "user": {"name": "Bo", "age": 5, "tags": ["x", "y"], "items": None},
    "rows": [{"k": "b", "v": 1}, {"k": "A", "v": 2.5}, {"k": "b", "v": None}, {"v": 0}],
    "messages": [{"role": "user", "content": "Hi <b>"}, {"role": "assistant", "content": None, "tool_calls": []}],
}


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[jinja2.ext.loopcontrols])
    env.filters["tojson"] = tojson
    return env


class Grammar:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.names = []

    def pick(self, *options):
        return self.random.choice(options)

    def chance(self, share):
        return self.random.random() < share

    def of(self, kind, depth):
        """An expression that is mostly of a kind."""
        if self.chance(0.06):
            kind = self.pick("text", "int", "float", "list", "dict", "bool", "other")
        if self.names and self.chance(0.15):
            return self.pick(*self.names)
        made = getattr(self, kind)(depth - 1)
        return f"({made})" if self.chance(0.2) or re.search(r" |^-", made) and self.chance(0.85) else made

    def any(self, depth):
        return self.of(self.pick("text", "text", "int", "float", "list", "list", "dict", "bool", "other"), depth)

    def literal(self):
        return self.pick(
            *("''", "'a'", "'A b'", "'  x '", "'😀b'", "'a,b,,c'", "'x<y>&\"'", "'é'", "'ß'", "'abcabc'", "'12'", "'-3.5'"),
            *("'a\\nb'", "'\\n  a \\n'", "\"it's\"", "'Straße'", "'a_b-c d'", "'%s|%s'", "'{}-{}'", "'1e3'", "'ǆx'", "' \\x1c'"),
        )

    def text(self, depth):
        if depth <= 0:
            return self.pick(self.literal(), self.literal(), "name", "text", "lines", "user.name")
        t = lambda: self.of("text", depth)
        i = lambda: self.of("int", depth - 1)
        small = lambda: self.pick("0", "1", "2", "-1", "3", "-2", "5", "none")
        chars = lambda: self.pick("", "", "' '", "'\\n'", "'ab'", "'<>'", "'😀'", "'h'")
        method = self.pick(
            *("upper()", "lower()", "title()", "capitalize()", "swapcase()", "casefold()"),
            *(f"{way}strip({chars()})" for way in ("", "l", "r")),
            *(f"replace({t()}, {t()})", f"replace('a', {t()}, {small()})", f"{self.pick('l', 'r')}just({i()}, '.')"),
            *(f"center({i()})", f"zfill({i()})", f"join({self.of('list', depth)})", f"remove{self.pick('prefix', 'suffix')}({t()})"),
            *(f"format({self.any(depth)}, {self.any(depth)})", "expandtabs(4)"),
        )
        name = self.pick(
            *("upper", "lower", "title", "capitalize", "trim", "string", "reverse", "safe", "escape", "first", "last", "tojson"),
            *(f"trim({t()})", f"replace({t()}, {t()})", f"center({i()})", f"truncate({i()})", f"truncate(3, true, '.')"),
            *(f"indent({i()})", f"indent(2, {self.bool(0)}, {self.bool(0)})", f"default({t()}, true)", f"tojson(indent=2)", "urlencode"),
            *(f"join({t()})", f"format({self.any(depth)}, {self.any(depth)})"),
        )
        return self.pick(
            *(f"{t()}.{method}", f"{t()}.{method}", f"{self.any(depth)} | {name}", f"{t()} | {name}", f"{t()} ~ {self.any(depth)}"),
            *(f"{t()} + {t()}", f"{t()} * {small()}", f"{t()}[{small()}]", f"{t()}[{self.slice()}]", f"{t()} % {self.any(depth)}"),
            *(f"{t()} if {self.of('bool', depth)} else {t()}", f"{self.of('list', depth)} | join({t()})", f"'{self.format()}' % {self.number(depth)}"),
            *(f"'{{:{self.spec()}}}'.format({self.number(depth)})", f"{self.any(depth)} | tojson", f"{self.number(depth)} | string"),
        )

    def format(self):
        return "%" + self.pick("", "-", "0", "+", " ") + self.pick("", "5", "8") + self.pick("d", "s", ".2f", ".0f", ".1e", "g", "r", "x", "f")

    def spec(self):
        return self.pick("", "<", ">", "^", "*^") + self.pick("", "+") + self.pick("5", "8", "1") + self.pick("", "d", ".2f", ".1%", ".3g", "s", "x", ",", "e")

    def slice(self):
        return ":".join(self.pick("", "1", "-1", "2", "-3", "0", "9") for _ in range(self.pick(2, 2, 3))).replace("::0", "::2")

    def number(self, depth):
        return self.of(self.pick("int", "float"), depth)

    def int(self, depth):
        if depth <= 0:
            return self.pick("0", "1", "2", "3", "7", "-1", "10", "12", "n", "m", "nums[0]", "-7", "100", "9007199254740993", "true")
        i = lambda: self.of("int", depth)
        t = lambda: self.of("text", depth)
        return self.pick(
            *(f"{i()} {self.pick('+', '-', '*', '//', '%')} {i()}", f"{i()} {self.pick('//', '%')} {self.pick('2', '3', '-3')}", f"{i()} ** {self.pick('2', '3', '0')}"),
            *(f"-{i()}", f"{self.any(depth)} | length", f"{self.any(depth)} | int", f"{i()} | abs", f"{self.of('list', depth)} | {self.pick('sum', 'min', 'max', 'count')}"),
            *(f"{t()}.{self.pick('find', 'rfind', 'count')}({t()})", f"{t()} | wordcount", f"{self.of('list', depth)}.{self.pick('index', 'count')}({self.any(depth)})"),
            *(f"{t()}.find({t()}, {i()}, {i()})", f"{t()} | int(base={self.pick('16', '2', '0')})", f"{i()} | round({self.pick('0', '1', '-1')})"),
        )

    def float(self, depth):
        if depth <= 0:
            return self.pick("1.0", "0.5", "x", "-2.5", "1e16", "0.1", "1e-7", "3.14159", "1.5e300", "2.675", "0.0")
        n = lambda: self.number(depth)
        return self.pick(
            *(f"{n()} / {n()}", f"{n()} {self.pick('+', '-', '*', '//', '%')} {self.of('float', depth)}", f"{n()} | float", f"{self.of('text', depth)} | float"),
            *(f"{n()} ** -1", f"{n()} | round({self.pick('', '1', '2', '-1')})", f"{n()} | round(1, '{self.pick('ceil', 'floor')}')", f"-{n()}", f"{self.float(0)} ** {self.pick('2', '3', '-2', '0.5')}"),
        )

    def bool(self, depth):
        if depth <= 0:
            return self.pick("true", "false", "yes", "True", "none")
        a, b = self.any(depth), self.any(depth)
        kind = self.pick("text", "int", "list", "float", "dict")
        c, d = self.of(kind, depth), self.of(kind, depth)
        test = self.pick(
            *("defined", "none", "string", "number", "integer", "float", "mapping", "sequence", "iterable", "boolean", "true"),
            *("false", "odd", "even", "lower", "upper", "undefined", "callable", "divisibleby(3)", "divisibleby 2", f"in {b}", f"eq({b})"),
            *(f"sameas(none)", f"gt {d}", "escaped", f"ne {b}"),
        )
        op = self.pick("==", "!=", "<", ">", "<=", ">=", "in", "not in")
        return self.pick(
            *(f"{a} {self.pick('==', '!=', 'in', 'not in')} {b}", f"{c} {op} {d}", f"{c} {op} {d} {self.pick('<', '==', '>=')} {c}", f"{c} is {test}"),
            *(f"{a} is {self.pick('', 'not ')}{test}", f"not {a}", f"{a} {self.pick('and', 'or')} {b}", f"{a} in {self.of('list', depth)}"),
            *(f"{self.of('text', depth)}.is{self.pick('digit', 'alpha', 'upper', 'lower', 'space', 'alnum', 'title', 'ascii', 'decimal')}()",),
            *(f"{self.of('text', depth)}.{self.pick('starts', 'ends')}with({self.pick(self.of('text', depth), '(' + self.literal() + ', ' + self.literal() + ')')})",),
        )

    def list(self, depth):
        if depth <= 0:
            return self.pick("nums", "words", "mixed", "[]", "[1, 2]", "['a', 'b']", "rows", "messages", "(1, 'a')", "()", "[[], {}]", "range(4)", "[1, [2]]")
        l = lambda: self.of("list", depth)
        t = lambda: self.of("text", depth)
        small = self.pick("1", "2", "-1", "none", "0")
        filters = self.pick(
            *("list", "sort", "sort(reverse=true)", "sort(attribute='k')", "unique | list", "reverse | list", "map('upper') | list", "select | list"),
            *("map(attribute='k') | list", "map(attribute='k', default='-') | list", "selectattr('v') | list", "rejectattr('k', 'defined') | list"),
            *("selectattr('k', 'equalto', 'b') | list", "selectattr('v', '==', 1) | list", "select('number') | list", "reject('string') | list"),
            *(f"select('equalto', {self.any(depth)}) | list", f"select('in', {l()}) | list", f"reject('==', {self.any(depth)}) | list", "batch(2) | list"),
            *("batch(3, '-') | list", "slice(2) | list", "slice(3, 0) | list", "groupby('k')", "map('string') | map('length') | list", "first", "last"),
            *("sort(case_sensitive=true)", "unique(case_sensitive=true) | list", "map('int') | sum", "map('tojson') | join(',')", "groupby('v', default=9) | list"),
            *("map('trim') | select | join('/')", "min", "max", "selectattr('v', 'none') | map(attribute='v') | list", "sum(start=[])"),
        )
        return self.pick(
            *(f"[{self.any(depth)}, {self.any(depth)}]", f"[{self.any(depth)}]", f"({self.any(depth)}, {self.any(depth)})", f"{l()} + {l()}"),
            *(f"{l()} | {filters}", f"{l()} | {filters}", f"{l()} | {filters}", f"{l()}[{self.slice()}]", f"{l()}[{self.pick('0', '-1', '9', '1')}]", f"{l()} * {small}"),
            *(f"{t()}.{self.pick('split', 'rsplit')}({self.pick('', t(), repr(',') + ', 1', 'none, 1', repr(' ') + ', maxsplit=2')})", f"{t()}.splitlines({self.pick('', 'true')})"),
            *(f"{t()} | list", f"{t()}.{self.pick('partition', 'rpartition')}({t()})", f"{self.of('dict', depth)}.{self.pick('keys', 'values', 'items')}() | list"),
            *(f"{self.of('dict', depth)} | {self.pick('items | list', 'dictsort', 'list', 'dictsort(false, repr)')}".replace("repr", "'value'"), f"range({self.of('int', 0)}) | list"),
        )

    def dict(self, depth):
        if depth <= 0:
            return self.pick("user", "{}", "{'a': 1}", "rows[0]", "{'b': [], 1: 'x'}", "messages[1]", "{1: 'a', true: 'b'}", "{none: 1.0}")
        return self.pick(
            f"{{{self.of('text', depth)}: {self.any(depth)}, 'z': {self.any(depth)}}}",
            f"dict({self.pick('', self.of('dict', depth) + ', ')}a={self.any(depth)})",
            f"{{{self.any(depth)}: {self.any(depth)}}}",
        )

    def other(self, depth):
        d = self.of("dict", depth)
        return self.pick(
            *(f"missing", f"{d}.name", f"{d}['name']", f"{d}.get('a', {self.any(depth)})", f"{d}.get('v')", "user.tags", "missing.x", "nothing"),
            *("messages[0].content", "messages[1]['content']", "user.nope", "user['items']", "rows[9]", "none", f"{d} | attr('name')", "user.tags[-1]"),
            *(f"{self.any(depth)} or {self.any(depth)}", f"{self.any(depth)} if {self.of('bool', depth)}", f"{d}.{self.pick('a', 'z', 'k', 'get', 'pop')}"),
        )

    def printed(self):
        value = self.any(self.pick(1, 2, 2, 3))
        return self.pick(f"{{{{ {value} }}}}", f"{{{{ [{value}] }}}}", f"{{{{ ({value}) | tojson }}}}", f"{{{{ [{value}] }}}}")

    def block(self, depth):
        if depth <= 0 or self.chance(0.3):
            return self.printed()
        inner = lambda names: self.within(names, depth)
        gap = lambda: self.pick("", "\n", " ", "\n  ", "x")
        m, e = self.pick("", "-", "+"), self.pick("", "-")
        loop = self.pick(
            *("{{ loop.index }}{{ loop.last }}", "{{ loop.previtem }}|{{ loop.nextitem }}", "{{ loop.revindex }}/{{ loop.length }}", "{{ loop.cycle('a', 'b') }}"),
            *("{% if loop.first %}{% continue %}{% endif %}.", "{% if loop.index > 2 %}{% break %}{% endif %},", "{{ loop.changed(i) }}", ""),
        )
        return self.pick(
            lambda: f"{{%{m} if {self.bool(2)} {e}%}}{gap()}{inner([])}{{% elif {self.bool(1)} %}}b{{% else %}}{gap()}{inner([])}{{% endif {e}%}}{gap()}",
            lambda: f"{{%{m} for i in {self.list(1)}{self.pick('', ' if i', ' if i is string')} %}}{gap()}{loop}{inner(['i'])}{gap()}{{% else %}}none{{%{m} endfor %}}",
            lambda: f"{{% for k, v in {self.dict(1)}.items() {e}%}}{{{{ k }}}}={{{{ v }}}};{gap()}{{% endfor %}}",
            lambda: f"{{% set v = {self.any(2)} %}}{gap()}{inner(['v'])}",
            lambda: f"{{% set v %}}{gap()}{inner([])}{{% endset %}}{{{{ [v] }}}}",
            lambda: f"{{% set ns = namespace(a={self.any(1)}) %}}{{% for i in {self.list(1)} %}}{{% set ns.a = {self.pick('i', 'ns.a ~ i', '[ns.a, i]')} %}}{{% endfor %}}{{{{ [ns.a] }}}}",
            lambda: f"{{% macro f(a, b={self.any(1)}) %}}{{{{ a }}}}/{{{{ b }}}}{gap()}{{% endmacro %}}{{{{ f({self.pick('', self.any(1), 'b=' + self.any(1))}) }}}}",
            lambda: f"{{% macro f(a) %}}<{{{{ caller({self.pick('', '1')}) }}}}>{{{{ varargs }}}}{{% endmacro %}}{{% call{self.pick('', '(q)', '(q=2)')} f(1{self.pick('', ', 2')}) %}}{gap()}{{{{ q }}}}{{% endcall %}}",
            lambda: f"{{% filter {self.pick('upper', 'trim', 'indent(2)', 'replace(1, 2)')} %}}{gap()}{inner([])}{{% endfilter %}}",
            lambda: f"{{% with w = {self.any(1)} %}}{inner(['w'])}{{% endwith %}}{{{{ w }}}}",
            lambda: f"{gap()}{{#{e} note {e}#}}{gap()}{inner([])}{{% raw %}}{{{{ r }}}}{{% endraw {e}%}}\n",
        )()

    def within(self, names, depth):
        self.names += names
        made = self.block(depth - 1)
        self.names = self.names[: len(self.names) - len(names)]
        return made


def outcome(env, template):
    """Text, None for an error, or False for what is not the same each time."""
    try:
        text = env.from_string(template).render(**copy.deepcopy(CONTEXT))  # the filter `indent` changes lists
    except Exception:
        return None
    if len(text) > 400 or re.search(r"object at 0x|method .* of|<function|<class", text):
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--longest", type=int, default=130)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
    grammar, env = Grammar(options.seed), environment()
    lines, seen, errors = [], set(), 0
    while len(lines) < options.count:
        template = grammar.block(grammar.random.choice((0, 0, 1, 2)))
        if template in seen or len(template) > options.longest:
            continue
        seen.add(template)
        text = outcome(env, template)
        # One in five may be an error; there would be more.
        if text is False or (text is None and errors * 5 > len(lines)):
            continue
        errors += text is None
        lines.append(json.dumps([template, text], ensure_ascii=False))
    about = f"Made by lab/scripts/templates.py --seed {options.seed} --count {options.count}, with jinja2 {jinja2.__version__}."
    print('{"about": %s,\n"variables": %s,' % (json.dumps(about), json.dumps(CONTEXT, ensure_ascii=False)))
    print('"templates": [\n' + ",\n".join(lines) + "\n]}")


main()
