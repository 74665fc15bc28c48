"""What a project's settings may do before the person trusts the folder, and what they may never do.

The list is of what is allowed: a key that is not named here waits for trust.
"""

from weft.schema.content import Json
from weft.settings.layers import as_object

_HARMLESS = frozenset(
    {
        "$schema",
        "autoCompact",
        "autoCompactEnabled",
        "cleanupPeriodDays",
        "includeCoAuthoredBy",
        "language",
        "spinnerTipsEnabled",
        "theme",
        "verbose",
    }
)
_HARMLESS_PERMISSIONS = frozenset({"deny", "ask", "disableBypassPermissionsMode"})
_OWN_VARIABLES = ("WEFT_", "LD_", "DYLD_")
_OWN_NAMES = frozenset({"CLAUDE_CONFIG_DIR", "CLAUDE_AGENT_SDK_VERSION", "IS_SANDBOX", "BASH_ENV", "ENV", "HOME"})
_MODES_A_PROJECT_MAY_SET = frozenset({"default", "manual", "plan", "dontAsk", "acceptEdits"})


def harmless(data: Json) -> tuple[Json, list[str]]:
    """The part of a project's settings that needs no trust, and the names of what was left out."""
    kept: Json = {}
    left_out: list[str] = []
    for key, value in data.items():
        if key in _HARMLESS:
            kept[key] = value
        elif key == "permissions":
            rules = as_object(value)
            kept[key] = {name: rule for name, rule in rules.items() if name in _HARMLESS_PERMISSIONS}
            left_out += [f"permissions.{name}" for name in rules if name not in _HARMLESS_PERMISSIONS]
        else:
            left_out.append(key)
    return kept, left_out


def never_from_a_project(data: Json) -> Json:
    """A project's settings without what no project may decide, trusted or not: switching all questions, the
    person's own hooks or the sandbox off, and variables that steer Weft itself or load code into every program."""
    result = dict(data)
    permissions = as_object(data.get("permissions"))
    if "defaultMode" in permissions and permissions["defaultMode"] not in _MODES_A_PROJECT_MAY_SET:
        result["permissions"] = {key: value for key, value in permissions.items() if key != "defaultMode"}
    env = as_object(data.get("env"))
    if env:
        result["env"] = {name: value for name, value in env.items() if not is_own_variable(name)}
    result.pop("disableAllHooks", None)
    sandbox = as_object(data.get("sandbox"))
    if sandbox.get("enabled") is False:
        result["sandbox"] = {key: value for key, value in sandbox.items() if key != "enabled"}
    return result


def is_own_variable(name: str) -> bool:
    """Whether a variable steers Weft or the loader, so that no file of a project (settings, `.env`) may set it."""
    return name in _OWN_NAMES or name.startswith(_OWN_VARIABLES)
