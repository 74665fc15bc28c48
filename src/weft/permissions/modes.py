"""Names of modes, ours and other agents'."""

from weft.errors import UsageError
from weft.schema.events import MODES, Mode

ALIASES: dict[str, Mode] = {
    "manual": "default",
    "selective": "default",
    "ask": "default",
    "accept-edits": "acceptEdits",
    "autoEdit": "acceptEdits",
    "auto_edit": "acceptEdits",
    "auto-edit": "acceptEdits",
    "yolo": "bypassPermissions",
    "bypass": "bypassPermissions",
    "dont-ask": "dontAsk",
    "auto": "smart",
}
ALIASES.update({mode: mode for mode in MODES})

MEANING: dict[Mode, str] = {
    "default": "reads pass, the rest is asked",
    "acceptEdits": "edits inside the workspace pass, the rest is asked",
    "plan": "nothing is changed; a plan is proposed",
    "dontAsk": "what no rule allows is refused without asking",
    "bypassPermissions": "everything passes that no rule forbids",
    "smart": "read-only and reversible calls pass, the rest is asked",
}


def to_mode(name: str) -> Mode:
    """The mode that a name of ours, of Claude Code or of iFlow means.

    Raises:
        UsageError: no such mode.
    """
    for known, mode in ALIASES.items():
        if known.lower() == name.lower():
            return mode
    raise UsageError(f"unknown permission mode {name!r}", hint=f"one of {', '.join(MODES)}")


def bypass_refusal(*, disabled: bool, root: bool, sandboxed: bool) -> str:
    """Why bypassPermissions may not be used, or an empty string."""
    if disabled:
        return "bypassPermissions is switched off by settings"
    if root and not sandboxed:
        return "bypassPermissions is refused for root; set IS_SANDBOX=1 if this machine is a sandbox"
    return ""
