"""Writes rules to the settings file that the person chose."""

import os
from collections.abc import Mapping
from pathlib import Path

from weft.permissions import rules as rulebook
from weft.schema.content import Json
from weft.schema.events import RuleSuggestion
from weft.settings.layers import as_list, as_object
from weft.settings.load import user_file
from weft.settings.write import edit_file


def rules_file(destination: str, cwd: str, env: Mapping[str, str] | None = None) -> Path | None:
    """Where rules for a destination are kept; None for those of the session."""
    if destination == "user":
        return user_file(env)
    if destination == "project":
        return Path(cwd) / ".claude" / "settings.json"
    if destination == "local":
        return Path(cwd) / ".claude" / "settings.local.json"
    return None


def write_rules(rules: tuple[RuleSuggestion, ...], cwd: str, env: Mapping[str, str] | None = None) -> tuple[Path, ...]:
    """Adds each rule to its file, once; returns the files that were changed.

    Raises:
        RuleError: a string is not exactly one rule; nothing was written then.
        SettingsError: a file cannot be changed.
    """
    for rule in rules:
        rulebook.parse(rule.rule)
    by_file: dict[Path, list[RuleSuggestion]] = {}
    for rule in rules:
        path = rules_file(rule.destination, cwd, env)
        if path is not None:
            by_file.setdefault(path, []).append(rule)
    for path, found in by_file.items():
        _add(path, found)
    return tuple(by_file)


def _add(path: Path, rules: list[RuleSuggestion]) -> None:
    def change(data: Json) -> None:
        permissions = dict(as_object(data.get("permissions")))
        for rule in rules:
            old = as_list(permissions.get(rule.behavior))
            permissions[rule.behavior] = old if rule.rule in old else [*old, rule.rule]
        data["permissions"] = permissions

    os.makedirs(path.parent, exist_ok=True)
    edit_file(path, change)
