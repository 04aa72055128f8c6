"""Wrong names, answered with the right ones: keywords of calls, and attributes of modules.

`checked_keywords` decorates every public function and class.  It keeps signatures as they are and
does nothing until a call fails; then `_names.toml`, the one table of wrong names, has the right
keyword and the reason.  `checked_options` does the same for ``**options`` of a TypedDict.
"""

from __future__ import annotations

import difflib
import functools
import inspect
import itertools
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast
from weakref import WeakSet

from rrstats.errors import ArgumentTypeError

Public = TypeVar("Public", bound=Callable[..., Any])

_BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_BY_NAME = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


@dataclass(frozen=True)
class _Answer:
    """An answer to a wrong keyword, for the functions that it fits.

    Attributes
    ----------
    instead : str
        The right keyword; the answer fits functions that have it.  Empty for a reason alone.
    reason : str
        The sentence after it.
    calls : frozenset of str
        The functions that the answer fits; empty for all.
    """

    instead: str = ""
    reason: str = ""
    calls: frozenset[str] = frozenset()

    def fits(self, call: str, keywords: Sequence[str]) -> bool:
        """True where this answers a call of a function with these keywords."""
        has_keyword = not self.instead or self.instead in keywords
        return has_keyword and (not self.calls or call in self.calls)


class _Answers(NamedTuple):
    """The answers of the table.

    keywords : those to a wrong keyword, of which the first that fits is used.
    attributes : those to names of the field, and of other packages.
    examples : a call of each function that needs arguments.
    """

    keywords: Mapping[str, Sequence[_Answer]]
    attributes: Mapping[str, str]
    examples: Mapping[str, str]


@functools.cache
def answers() -> _Answers:
    """The table of wrong names, which is read when the first one is typed."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    calls_of = {group: calls.split() for group, calls in table["calls"].items()}
    keywords: dict[str, list[_Answer]] = {}
    for entry in table["keywords"]:
        listed = [calls_of.get(call, [call]) for call in entry.get("calls", "").split()]
        calls = frozenset(itertools.chain.from_iterable(listed))
        answer = _Answer(entry.get("instead", ""), entry.get("reason", ""), calls)
        for word in entry["words"].split():
            keywords.setdefault(word, []).append(answer)
    attributes = {
        word: entry["answer"].replace("{}", word)
        for entry in table["attributes"]
        for word in entry["words"].split()
    }
    return _Answers(keywords, attributes, table["examples"])


_NEAR_ATTRIBUTE = 0.75
"""Similarity from which an attribute is near another; at .7 'bounds' is near 'two_rounds'."""

_VERY_NEAR_ATTRIBUTE = 0.88
"""Similarity from which the attribute itself comes before the answer to a word of the field."""

_DECORATED: WeakSet[Callable[..., Any]] = WeakSet()
"""The functions that answer wrong keywords already."""


def nearest(name: object, names: Iterable[object]) -> str | None:
    """The right name that a wrong one resembles most, if any; case matters only in a tie.

    >>> nearest("Fair", ["poor", "fair"]), nearest("anwser", ["answer"]), nearest("x", ["yes"])
    ('fair', 'answer', None)
    """
    listed = [str(right) for right in names]
    near = difflib.get_close_matches(str(name), listed, n=1)
    if near:
        return near[0]
    by_case = {right.casefold(): right for right in listed}
    return by_case.get(str(name).casefold())


def did_you_mean(name: object, names: Iterable[object]) -> str:
    """The end of a message about a wrong name: the nearest right one, or nothing.

    >>> did_you_mean("anwser", ["answer", "age"]), did_you_mean("x", ["answer"])
    ("; did you mean 'answer'?", '')
    """
    near = nearest(name, names)
    return f"; did you mean {near!r}?" if near is not None else ""


def _answered(call: str, wrong: str, keywords: Sequence[str]) -> tuple[str, str] | None:
    """The right keyword for a wrong one, or "", and the end of a message; None if unknown."""
    for answer in answers().keywords.get(wrong, ()):
        if answer.fits(call, keywords):
            reason = f", {answer.reason}" if answer.instead and answer.reason else answer.reason
            way_on = f"; give {answer.instead}{reason}" if answer.instead else f": {reason}"
            return answer.instead, way_on
    near = nearest(wrong, keywords)
    return None if near is None else (near, f"; did you mean {near}?")


def _takes_no_counts(call: str, keywords: Sequence[str]) -> bool:
    """True for a function that people give counts of reports, which go elsewhere."""
    return any(answer.fits(call, keywords) for answer in answers().keywords["counts"])


def _wrong_keywords(
    call: str, wrong: Iterable[str], keywords: Sequence[str]
) -> tuple[set[str], list[str]]:
    """The keywords that wrong ones probably mean, and one sentence for each of these.

    >>> _wrong_keywords("interval", ["alpha", "metod"], ["level", "method"])[1]
    ['takes no alpha; give level, the confidence: level=0.95 for alpha=0.05', \
'takes no metod; did you mean method?']
    """
    meant: set[str] = set()
    alike: dict[str, list[str]] = {}  # names by their answer, which is said once
    unknown: list[str] = []
    for name in wrong:
        answered = _answered(call, name, keywords)
        if answered is None:
            unknown.append(name)
        else:
            instead, way_on = answered
            meant.add(instead)
            alike.setdefault(way_on, []).append(name)
    sentences = [f"takes no {' and no '.join(names)}{way_on}" for way_on, names in alike.items()]
    if unknown:
        listed = f"its arguments are {', '.join(keywords)}" if keywords else "it takes no arguments"
        sentences.append(f"takes no {' and no '.join(unknown)}; {listed}")
    return meant, sentences


def wrong_keyword(call: str, wrong: str, keywords: Sequence[str]) -> ArgumentTypeError:
    """The error of a keyword that a function does not take.

    >>> print(wrong_keyword("interval", "metod", ["level", "method"]))
    interval takes no metod; did you mean method?
    """
    return ArgumentTypeError(f"{call} {_wrong_keywords(call, [wrong], keywords)[1][0]}")


def _call_name(function: FunctionType) -> str:
    """The name of a function in messages; of a constructor that of its class."""
    names = function.__qualname__.split(".")
    return names[-2] if names[-1] in ("__init__", "__new__") else names[-1]


def _refused(
    function: FunctionType,
    args: Sequence[Any],
    keywords: Iterable[str],
    options: Sequence[str] | None = None,
) -> ArgumentTypeError | None:
    """The error of a call whose names do not fit, with all faults and a call that fits.

    options : names that ``**options`` takes; None takes any.  The answer is None if all fits.
    """
    listed = list(inspect.signature(function).parameters.values())
    if listed and listed[0].name in ("self", "cls"):
        listed = listed[1:]
        args = args[1:]
    kinds = {each.kind for each in listed}
    by_place = [each.name for each in listed if each.kind in _BY_PLACE]
    by_name = [each.name for each in listed if each.kind in _BY_NAME]
    by_name += options or ()
    call = _call_name(function)

    takes_any = options is None and Parameter.VAR_KEYWORD in kinds
    wrong = [] if takes_any else [name for name in keywords if name not in by_name]
    if args and type(args[0]) is int and _takes_no_counts(call, by_name):
        wrong = [*wrong, "counts"]
    meant, faults = _wrong_keywords(call, wrong, by_name)
    filled = by_place[: len(args)]
    twice = [name for name in keywords if name in filled]
    faults += [
        f"takes {name} once, found it by position and by name; the order is {', '.join(by_place)}"
        for name in twice
    ]
    if len(args) > len(by_place) and Parameter.VAR_POSITIONAL not in kinds:
        faults.append(_too_many_by_place(len(args), by_place, by_name))
    given_names = {*filled, *keywords, *meant}
    needed = [
        each.name
        for each in listed
        if each.default is Parameter.empty and each.name in by_name and each.name not in given_names
    ]
    if needed:
        faults.append(f"needs {', '.join(needed)}")
    if not faults:
        return None
    if needed or twice or len(faults) > 1:
        example = answers().examples.get(function.__qualname__.removesuffix(".__init__"))
        faults[-1] += f"; for example {example}" if example else ""
    text = "  It ".join(fault if fault[-1] == "?" else f"{fault}." for fault in faults)
    return ArgumentTypeError(f"{call} {text.removesuffix('.')}")


def _too_many_by_place(n: int, by_place: Sequence[str], by_name: Sequence[str]) -> str:
    """The fault of n arguments by position, which are more than the places."""
    named_only = [name for name in by_name if name not in by_place]
    rule = f"takes only {', '.join(by_place)}" if by_place else "takes nothing"
    hint = f"; give {', '.join(named_only)} by name" if named_only else ""
    number = "1 argument" if n == 1 else f"{n} arguments"
    return f"{rule} by position, found {number}{hint}"


def _checked(function: FunctionType, options: Sequence[str] | None = None) -> Any:
    """The function, with an answer to arguments that it does not take.

    options : the names that its ``**options`` takes; None where they are another package's.
    """

    @functools.wraps(function)
    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return function(*args, **keywords)
        except TypeError as error:
            trace = error.__traceback__
            # Without a frame below this one the call failed before the function's first line.
            if trace is not None and trace.tb_next is None:
                refused = _refused(function, args, keywords, options)
                if refused is not None:
                    raise refused from None
            raise

    _DECORATED.add(call)
    return call


def checked_keywords(public: Public) -> Public:
    """Decorate a public function, or a class with all its public methods and its constructor.

    A keyword that it does not take raises ArgumentTypeError with the right one.  Other errors,
    TypeErrors inside the function among them, pass unchanged.
    """
    if isinstance(public, FunctionType):
        return cast("Public", _checked(public))
    for name, member in list(vars(public).items()):
        if name.startswith("_") and name != "__init__":
            continue
        # A base class decorates its heirs, before the constructor of a dataclass is written.
        if isinstance(member, FunctionType) and member not in _DECORATED:
            setattr(public, name, _checked(member))
        elif isinstance(member, classmethod | staticmethod):
            setattr(public, name, type(member)(_checked(cast("FunctionType", member.__func__))))
    return public


def checked_options(options: type) -> Callable[[Public], Public]:
    """Decorate a function with ``**options`` of a TypedDict, whose keys alone it then takes."""
    keys = sorted(vars(options)["__required_keys__"] | vars(options)["__optional_keys__"])

    def decorate(function: Public) -> Public:
        plain = cast("FunctionType", function)
        code = plain.__code__
        allowed = {*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], *keys}
        answered = _checked(plain, keys)

        @functools.wraps(plain)
        def call(*args: Any, **given_keywords: Any) -> Any:
            if not allowed.issuperset(given_keywords):
                refused = _refused(plain, args, given_keywords, keys)
                if refused is not None:
                    raise refused
            return answered(*args, **given_keywords)

        _DECORATED.add(call)
        return cast("Public", call)

    return decorate


def _home(name: str) -> str | None:
    """A public name as it is written, such as rr.surveys.warner; in equal case if possible."""
    homes: dict[str, str] = {}
    waiting = [("rr", sys.modules["rrstats"])]
    for path, module in waiting:  # the top first, then its modules, then theirs
        for public_name in module.__all__:
            homes.setdefault(public_name, f"{path}.{public_name}")
            member = getattr(module, public_name)
            if isinstance(member, ModuleType):
                waiting.append((f"{path}.{public_name}", member))
    by_case = {each.casefold(): place for each, place in homes.items()}
    return homes.get(name) or by_case.get(name.casefold())


def _hint(name: str, names: Iterable[str], places: Iterable[str]) -> str:
    """The end of a message about a missing attribute: what is near, or what the field calls so.

    places : names whose words come first: the module, or the class and its bases.
    """
    if name.startswith("_"):  # asked for by Python's own tools, and notebooks'
        return ""
    words = answers().attributes
    for place in places:
        if f"{place}.{name}" in words:
            return f"; {words[f'{place}.{name}']}"
    listed = {each.casefold(): each for each in names}
    home = _home(name)
    word = words.get(name) or words.get(name.casefold())
    is_known = word is not None or home is not None
    cutoff = _VERY_NEAR_ATTRIBUTE if is_known else _NEAR_ATTRIBUTE
    near = difflib.get_close_matches(name.casefold(), listed, n=1, cutoff=cutoff)
    if near and not (home or "").endswith(f".{name}"):
        return f"; did you mean {listed[near[0]]}?"
    if home is not None:
        example = answers().examples.get(home.rpartition(".")[2], "")
        shown = f", as in {example}" if example.startswith(f"{home}(") else ""
        return f"; it is {home}{shown}"
    return "" if word is None else f"; {word}"


def missing_attribute(module: str, name: str, names: Iterable[str]) -> str:
    """The message about an attribute that a module does not have.

    Each public module ends with a `__getattr__` that raises it, hidden from type checkers, which
    would otherwise believe that every attribute exists.

    >>> missing_attribute("rrstats.surveys", "croswise", ["warner", "crosswise"])
    "module 'rrstats.surveys' has no attribute 'croswise'; did you mean crosswise?"
    """
    hint = _hint(name, names, [module.rpartition(".")[2]])
    return f"module {module!r} has no attribute {name!r}{hint}"


def missing_member(kind: type, name: str) -> str:
    """The message about an attribute that a mechanism, a result or an accessor does not have.

    >>> print(missing_member(str, "coef_"))
    'str' object has no attribute 'coef_'; params has the coefficients of a fit, summary() prints \
them with errors and p-values
    """
    members = [member for member in dir(kind) if not member.startswith("_")]
    hint = _hint(name, members, [base.__name__ for base in kind.__mro__])
    return f"{kind.__name__!r} object has no attribute {name!r}{hint}"


class MissingMemberError(AttributeError):
    """A type without this attribute; the words are looked up when they are shown.

    Most lookups are questions, as of `hasattr`, which show nothing.
    """

    def __str__(self) -> str:
        return missing_member(*self.args)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class MissingMembers:
    """A base of mechanisms, results and accessors, which answer names that they do not have."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise with the way on for the name of what is elsewhere."""
            raise MissingMemberError(type(self), name)
