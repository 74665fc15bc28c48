"""Rules for a copy of a folder: what they say of the folder holds in the copy as well."""

from collections.abc import Iterable

import msgspec

from weft.permissions.paths import within_any
from weft.permissions.rules import Rule, to_text


def moved_rules(rules: Iterable[Rule], old: str, new: str, home: str) -> tuple[Rule, ...]:
    """The rules as they are, and again for `new` where they name a place in `old`. Relative patterns need nothing:
    they follow the working folder of the gate."""
    found: list[Rule] = []
    for rule in rules:
        found.append(rule)
        moved = _moved(rule, old, new, home)
        if moved is not None:
            found.append(moved)
    return tuple(found)


def _moved(rule: Rule, old: str, new: str, home: str) -> Rule | None:
    text = rule.specifier or ""
    if text.startswith("//"):
        place = text[1:]
    elif text.startswith("~/"):
        place = home + text[1:]
    elif text.startswith("/"):
        if not rule.root or not within_any(rule.root, [old]):
            return None
        return msgspec.structs.replace(rule, root=new + rule.root[len(old) :])
    else:
        return None
    if place != old and not place.startswith(f"{old}/"):
        return None
    specifier = f"/{new}{place[len(old) :]}"
    return msgspec.structs.replace(rule, specifier=specifier, text=to_text(rule.tool, specifier))
