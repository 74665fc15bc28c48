"""What a hook said, from exit codes and JSON to one `Verdict`."""

from collections.abc import Iterable
from typing import Literal

import msgspec

from weft.hooks.port import HookEvent, Verdict
from weft.schema.content import Json
from weft.settings.layers import as_object, as_strings, is_object

Permission = Literal["allow", "deny", "ask", "defer"]
_ORDER: tuple[Permission, ...] = ("deny", "defer", "ask", "allow")
_WORDS: dict[str, Permission] = {"allow": "allow", "deny": "deny", "ask": "ask", "defer": "defer"}
_ACTIONS = ("accept", "decline", "cancel")
_STDOUT_IS_CONTEXT = frozenset({"UserPromptSubmit", "UserPromptExpansion", "Setup", "SessionStart", "SetUpEnvironment"})


def from_command(event: HookEvent, command: str, code: int, stdout: str, stderr: str) -> Verdict:
    """Exit 0: JSON counts, other text is context for some events. Exit 2: blocked, with standard error as the
    reason. Any other code says nothing."""
    if code == 2:
        return refusal(event, f"[{command}]: {stderr.strip() or 'no reason was given'}")
    if code != 0:
        return Verdict()
    value = decode(stdout)
    if value is not None:
        return from_json(event, value)
    text = stdout.strip()
    return Verdict(context=(text,)) if text and event in _STDOUT_IS_CONTEXT else Verdict()


def decode(text: str) -> Json | None:
    """The JSON object that a hook printed, if it printed one."""
    if not text.lstrip().startswith("{"):
        return None
    try:
        return msgspec.json.decode(text.strip(), type=dict[str, object])
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return None


def refusal(event: HookEvent, reason: str) -> Verdict:
    return Verdict(
        block=True, reason=reason, permission="deny" if event in ("PreToolUse", "PermissionRequest") else None
    )


def from_json(event: HookEvent, value: Json) -> Verdict:
    """The documented output object. Fields of a wrong type are left out."""
    special = as_object(value.get("hookSpecificOutput"))
    permission, reason = _permission(event, value, special)
    block = value.get("decision") == "block"
    changed = special.get("updatedInput")
    if event == "PermissionRequest" and is_object(special.get("decision")):
        changed = as_object(special.get("decision")).get("updatedInput", changed)
    stop = value.get("continue") is False
    return Verdict(
        permission=permission,
        reason=reason,
        block=block,
        stop=stop,
        stop_reason=_text(value.get("stopReason")) if stop else "",
        input=changed if is_object(changed) else None,
        output=special.get("updatedToolOutput", special.get("updatedMCPToolOutput")),
        context=_texts(special.get("additionalContext")),
        messages=_texts(value.get("systemMessage")),
        title=_text(special.get("sessionTitle")) or None,
        watch=as_strings(special.get("watchPaths")),
        answer=_answer(event, special),
    )


def _answer(event: HookEvent, special: Json) -> Json | None:
    if event not in ("Elicitation", "ElicitationResult") or special.get("action") not in _ACTIONS:
        return None
    return {"action": special["action"], "content": as_object(special.get("content"))}


def _permission(event: HookEvent, value: Json, special: Json) -> tuple[Permission | None, str]:
    reason = _text(special.get("permissionDecisionReason")) or _text(value.get("reason"))
    word = special.get("permissionDecision")
    if event == "PermissionRequest":
        decision = as_object(special.get("decision"))
        word = decision.get("behavior", word)
        reason = _text(decision.get("message")) or reason
    if word is None:
        word = {"approve": "allow", "block": "deny"}.get(_text(value.get("decision")))
        word = word if event in ("PreToolUse", "PermissionRequest") else None
    return _WORDS.get(_text(word)), reason


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) and value else ()


def fold(verdicts: Iterable[Verdict]) -> Verdict:
    """Many verdicts as one: deny beats defer beats ask beats allow, and its reason is the one that counts."""
    result = Verdict()
    for verdict in verdicts:
        stronger = verdict.permission is not None and (
            result.permission is None or _ORDER.index(verdict.permission) < _ORDER.index(result.permission)
        )
        decides = stronger or (verdict.block and not result.block) or not result.reason
        result = Verdict(
            permission=verdict.permission if stronger else result.permission,
            reason=verdict.reason if decides and verdict.reason else result.reason,
            block=result.block or verdict.block,
            stop=result.stop or verdict.stop,
            stop_reason=result.stop_reason or verdict.stop_reason,
            input=verdict.input if verdict.input is not None else result.input,
            output=verdict.output if verdict.output is not None else result.output,
            context=result.context + verdict.context,
            messages=result.messages + verdict.messages,
            title=verdict.title or result.title,
            watch=result.watch + verdict.watch,
            answer=verdict.answer or result.answer,
        )
    return result
