"""Reads configurations of eww as eww does, where eww itself is missing.

A configuration is a list of forms: `(deflisten …)`, `(defwidget …)`, `(defwindow …)`. Attributes have
expressions: strings with `${…}` in them, or `{…}`. This reader knows the forms, the widgets and the
attributes that a bar needs, and refuses everything else. It follows eww's documentation and the grammar
of eww 0.6: every value is text, JSON text can be indexed, and `==` compares texts.
"""

import json
import re

#: The attributes of every widget, and those of the widgets that a bar needs.
EVERY = {"class", "valign", "halign", "vexpand", "hexpand", "width", "height", "active", "tooltip",
         "visible", "style", "css"}
CLICKS = {"timeout", "onclick", "onmiddleclick", "onrightclick"}
WIDGETS = {
    "box": {"spacing", "orientation", "space-evenly"},
    "eventbox": CLICKS | {"onscroll", "onhover", "onhoverlost", "cursor", "ondropped", "dragvalue",
                          "dragtype"},
    "button": CLICKS,
    "label": {"text", "markup", "truncate", "limit-width", "truncate-left", "show-truncated",
              "unindent", "wrap", "angle", "gravity", "xalign", "yalign", "justify", "wrap-mode",
              "lines"},
}
WINDOW = {"monitor", "geometry", "stacking", "exclusive", "focusable", "wm-ignore", "reserve",
          "windowtype", "resizable", "namespace"}
GEOMETRY = {"x", "y", "width", "height", "anchor"}


class Mistake(Exception):
    """The configuration is not one that eww reads."""


class Expression:
    """An expression; `value(variables)` is its text."""

    def __init__(self, value, literal=None):
        self.value, self.literal = value, literal


class Form(list):
    """What is in parentheses."""


class Names(list):
    """What is in brackets."""


class Keyword(str):
    """`:name`"""


class Symbol(str):
    """`name`"""


# --- Values ---------------------------------------------------------------------------------------


def text(value):
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def truth(value):
    if value not in ("true", "false"):
        raise Mistake(f"{value!r} is neither true nor false")
    return value == "true"


def member(value, index):
    """A part of JSON text; null if it does not exist."""
    try:
        found = json.loads(value)
    except json.JSONDecodeError:
        raise Mistake(f"{value!r} is not JSON, and has no {index!r}") from None
    if isinstance(found, dict):
        return text(found.get(index))
    if isinstance(found, list):
        return text(dict(enumerate(found)).get(int(index)))
    raise Mistake(f"{value!r} has no parts")


# --- Reading --------------------------------------------------------------------------------------

WORD = re.compile(r"[^\s(){}\[\]\"'`;]+")
TOKEN = re.compile(r"==|!=|&&|\|\||\?:|[?:.\[\]()!]|[a-zA-Z_][a-zA-Z0-9_-]*|[0-9]+(?:\.[0-9]+)?")


class Reader:
    def __init__(self, source):
        self.source, self.at = source, 0

    def fail(self, why):
        line = self.source.count("\n", 0, self.at) + 1
        raise Mistake(f"line {line}: {why}")

    def space(self):
        self.at = re.compile(r"(?:\s|;[^\n]*)*").match(self.source, self.at).end()

    @property
    def next(self):
        self.space()
        return self.source[self.at:self.at + 1]

    def take(self, what):
        if not self.source.startswith(what, self.at):
            self.fail(f"expected {what}")
        self.at += len(what)

    # Forms.

    def file(self):
        forms = []
        while self.next:
            if self.next != "(":
                self.fail("expected a form in parentheses")
            forms.append(self.element())
        return forms

    def element(self):
        first = self.next
        if first == "":
            self.fail("a closing bracket is missing")
        if first in "([":
            self.at += 1
            found, end = (Form(), ")") if first == "(" else (Names(), "]")
            while self.next != end:
                found.append(self.element())
            self.at += 1
            return found
        if first in "\"'`":
            return self.string()
        if first == "{":
            self.at += 1
            found = self.choice()
            self.space()
            self.take("}")
            return found
        word = WORD.match(self.source, self.at)
        if not word:
            self.fail(f"{first} cannot be here")
        self.at = word.end()
        if word[0].startswith(":"):
            return Keyword(word[0][1:])
        is_literal = word[0] in ("true", "false") or re.fullmatch(r"[+-]?[0-9.]+", word[0])
        return Expression(lambda _: word[0], word[0]) if is_literal else Symbol(word[0])

    # Expressions.

    def string(self):
        quote, parts, plain = self.source[self.at], [], ""
        self.at += 1
        while True:
            rest = self.source[self.at:self.at + 2]
            if rest == "":
                self.fail("a closing quote is missing")
            if rest == "${":
                self.at += 2
                inner = self.choice()
                self.space()
                self.take("}")
                parts += [Expression(lambda _, plain=plain: plain, plain), inner]
                plain = ""
            elif rest[0] == quote:
                self.at += 1
                break
            else:
                self.at += 2 if rest[0] == "\\" else 1
                plain += rest[-1] if rest[0] == "\\" else rest[0]
        parts.append(Expression(lambda _: plain, plain))
        literal = plain if len(parts) == 1 else None
        return Expression(lambda variables: "".join(p.value(variables) for p in parts), literal)

    def peek(self):
        self.space()
        found = TOKEN.match(self.source, self.at)
        return found[0] if found else ""

    def token(self, wanted=None):
        found = self.peek()
        if not found or (wanted and found != wanted):
            self.fail(f"expected {wanted or 'a value'}")
        self.at += len(found)
        return found

    def choice(self):
        condition = self.operators(0)
        if self.peek() != "?":
            return condition
        self.token("?")
        yes = self.choice()
        self.token(":")
        no = self.choice()
        return Expression(lambda v: (yes if truth(condition.value(v)) else no).value(v))

    LEVELS = (
        {"&&": lambda a, b: text(truth(a) and truth(b)), "||": lambda a, b: text(truth(a) or truth(b)),
         "?:": lambda a, b: b if a in ("", "null") else a},
        {"==": lambda a, b: text(a == b), "!=": lambda a, b: text(a != b)},
    )

    def operators(self, level):
        if level == len(self.LEVELS):
            return self.postfix()
        left = self.operators(level + 1)
        while self.peek() in self.LEVELS[level]:
            act = self.LEVELS[level][self.token()]
            left = Expression(lambda v, act=act, a=left, b=self.operators(level + 1):
                              act(a.value(v), b.value(v)))
        return left

    def postfix(self):
        if self.next in ("\"", "'", "`"):
            found = self.string()
        else:
            word = self.token()
            if word == "!":
                inner = self.postfix()
                return Expression(lambda v: text(not truth(inner.value(v))))
            if word == "(":
                found = self.choice()
                self.token(")")
            elif word in ("true", "false") or word[0].isdigit():
                found = Expression(lambda _: word, word)
            elif word[0].isalpha() or word[0] == "_":
                found = Expression(lambda v: v[word] if word in v else self.fail(f"there is no {word}"))
            else:
                self.fail(f"expected a value before {word}")
        while self.peek() in (".", "["):
            if self.token() == ".":
                name = self.token()
                index = Expression(lambda _, name=name: name)
            else:
                index = self.choice()
                self.token("]")
            found = Expression(lambda v, of=found, at=index: member(of.value(v), at.value(v)))
        return found


# --- Meaning --------------------------------------------------------------------------------------


def attributes(form, known, what):
    """Takes the leading `:name value` pairs out of a form."""
    found = {}
    while form and isinstance(form[0], Keyword):
        name = form.pop(0)
        if name not in known:
            raise Mistake(f"{what} has no attribute {name}")
        if name in found:
            raise Mistake(f"{what} has {name} twice")
        if not form or isinstance(form[0], (Keyword, Symbol, Names)):
            raise Mistake(f"{name} of {what} has no value")
        found[name] = form.pop(0)
    return found


def literal(value, what):
    if not isinstance(value, Expression) or value.literal is None:
        raise Mistake(f"{what} must be text without expressions")
    return value.literal


class Configuration:
    """`listens` has the commands of variables, and `windows` and `widgets` what is in them."""

    def __init__(self, source):
        self.listens, self.initial, self.widgets, self.windows = {}, {}, {}, {}
        for form in Reader(source).file():
            define = {"deflisten": self.deflisten, "defwidget": self.defwidget,
                      "defwindow": self.defwindow}.get(form.pop(0) if form else None)
            if define is None or not form or not isinstance(form[0], Symbol):
                raise Mistake("expected deflisten, defwidget or defwindow, and a name")
            define(str(form.pop(0)), form)

    def deflisten(self, name, form):
        found = attributes(form, {"initial"}, "deflisten")
        if len(form) != 1:
            raise Mistake("deflisten has one command")
        self.listens[name] = literal(form[0], "the command of deflisten")
        self.initial[name] = literal(found["initial"], "initial") if "initial" in found else ""

    def defwidget(self, name, form):
        if len(form) != 2 or form[0] != [] or not isinstance(form[0], Names):
            raise Mistake("defwidget has [] and one widget")
        self.widgets[name] = form[1]

    def defwindow(self, name, form):
        found = attributes(form, WINDOW, "defwindow")
        if len(form) != 1:
            raise Mistake("defwindow has one widget")
        geometry = found.get("geometry")
        if geometry is not None:
            if not isinstance(geometry, Form) or geometry.pop(0) != "geometry":
                raise Mistake("expected (geometry …)")
            attributes(geometry, GEOMETRY, "geometry")
            if geometry:
                raise Mistake("geometry has attributes only")
        self.windows[name] = form[0]

    def drawn(self, form, variables):
        """The widgets that a form draws: a name, texts of attributes, and widgets in it."""
        if isinstance(form, Expression):
            return [("label", {"text": form.value(variables)}, [])]
        if not isinstance(form, Form) or not form or not isinstance(form[0], Symbol):
            raise Mistake("expected a widget")
        rest = Form(form[1:])
        if form[0] == "for":
            if len(rest) != 4 or rest[1] != "in" or not isinstance(rest[2], (Symbol, Expression)):
                raise Mistake("expected (for NAME in LIST WIDGET)")
            of = rest[2].value(variables) if isinstance(rest[2], Expression) else variables[rest[2]]
            return [widget for item in json.loads(of)
                    for widget in self.drawn(rest[3], {**variables, rest[0]: text(item)})]
        if form[0] in self.widgets:
            if rest:
                raise Mistake(f"{form[0]} takes no attributes")
            return self.drawn(self.widgets[form[0]], variables)
        if form[0] not in WIDGETS:
            raise Mistake(f"there is no widget {form[0]}")
        found = attributes(rest, WIDGETS[form[0]] | EVERY, form[0])
        inner = [widget for child in rest for widget in self.drawn(child, variables)]
        if len(inner) > 1 and form[0] == "eventbox" or inner and form[0] == "label":
            raise Mistake(f"{form[0]} has too many widgets in it")
        return [(str(form[0]), {name: value.value(variables) for name, value in found.items()}, inner)]
