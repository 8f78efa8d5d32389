"""The page of all errors, written from the classes themselves: python -m tools.docs.errors > docs/reference/errors.md.

A class is asked for its own text: it is made once with the names of its arguments as their values, so what stands on the page is
what a program would raise.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from typing import Any, Final

import indextables
from indextables.errors import IndexTablesError

_INTRODUCTION: Final = """\
# Errors

<!-- Generated from indextables.errors: python -m tools.docs.errors > docs/reference/errors.md -->

Every error derives from `IndexTablesError`, says what happened, and ends with the way out. What a program needs is in its
attributes (`error.problem` and `error.way_out` are the two halves of the text), and all of it survives pickling, because Spark
carries errors from workers to the driver. Words in angle brackets stand for what is known when it happens.

```text
{tree}
```

Three outcomes of a write are kept apart everywhere. *Done* is a normal return. *Not done* is any error but two.
*Unknown* is `OutcomeUnknownError` for a single call to a store and `CommitUnknownError` for a commit: it may have happened, so
nothing is deleted, and you look before you repeat it.
"""
_SAID: Final = "The message says it; it depends on what happened."


def classes() -> list[type[IndexTablesError]]:
    """Return all error classes of the package, each after the one that it derives from."""
    for module in pkgutil.walk_packages(indextables.__path__, "indextables."):
        if ".testing" not in module.name and not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    return _below(IndexTablesError)


def _below(kind: type[IndexTablesError]) -> list[type[IndexTablesError]]:
    children = sorted(kind.__subclasses__(), key=lambda child: child.__name__)
    ours = [child for child in children if child.__module__.startswith("indextables.")]
    return [kind, *(found for child in ours for found in _below(child))]


def sample(kind: type[IndexTablesError]) -> IndexTablesError:
    """Return an error whose texts name the arguments that fill them."""
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for parameter in inspect.signature(kind).parameters.values():
        if parameter.default is not inspect.Parameter.empty:
            continue
        value = f"<{parameter.name}>"
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
            named[parameter.name] = value
        else:
            positional.append(value)
    return kind(*positional, **named)


def section(kind: type[IndexTablesError]) -> str:
    """Return what the page says about a class."""
    made = sample(kind)
    builtins = [base.__name__ for base in kind.__bases__ if base.__module__ == "builtins" and base is not Exception]
    parents = [base.__name__ for base in kind.__bases__ if issubclass(base, IndexTablesError)]
    lines = [f"## {kind.__name__}", "", inspect.cleandoc(kind.__doc__ or ""), ""]
    facts = []
    if parents:
        facts.append(f"Kind of `{'`, `'.join([*parents, *builtins])}`")
    shown = [name for name in vars(made) if name not in {"problem", "way_out"} and not name.startswith("_")]
    if shown:
        facts.append(f"Attributes: `{'`, `'.join(shown)}`")
    way_out = _SAID if made.way_out == "<way_out>" else f"{made.way_out.rstrip('.')}."
    problem = "" if made.problem == "<problem>" else f"`{_shown(made.problem)}`"
    lines += [f"- {fact}." for fact in facts]
    lines += [f"- Message: {problem}"] * bool(problem)
    lines += [f"- Way out: {_shown(way_out).replace('<', '&lt;')}", ""]
    return "\n".join(lines)


def _shown(text: str) -> str:
    """Return a text with the arguments as they look in it, not as `repr` quotes them."""
    return text.replace("'<", "<").replace(">'", ">")


def _tree(found: list[type[IndexTablesError]]) -> str:
    depth = {kind: len([base for base in kind.__mro__ if issubclass(base, IndexTablesError)]) - 1 for kind in found}
    return "\n".join("    " * depth[kind] + kind.__name__ for kind in found)


def page() -> str:
    """Return the whole page."""
    found = classes()
    return "\n".join([_INTRODUCTION.format(tree=_tree(found)), *map(section, found)]).rstrip() + "\n"


if __name__ == "__main__":
    print(page(), end="")
