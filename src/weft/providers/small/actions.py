"""What a small model may do: flat actions, and the calls of ordinary tools that they stand for."""

import re
import shlex
from typing import Final
from uuid import uuid4

import msgspec

from weft.providers.small.repair import anchored, indented_as, indented_below, is_line, unfenced, unnumbered
from weft.providers.small.sound import lost, mended, new_fault, orphan
from weft.providers.small.turn import Files, Turn
from weft.schema.content import Json, ToolUse

END: Final = frozenset({"done", "answer"})
NEEDS: Final = {
    "edit": "Edit",
    "insert": "Edit",
    "replace_all": "Edit",
    "append": "Write",
    "write": "Write",
    "delete": "Bash",
    "move": "Bash",
    "run": "Bash",
    "read": "Read",
    "search": "Grep",
}
"""The tool that each action is made with: an action whose tool is not in play is not offered."""


_ANEW: Final = re.compile(r"rewrit|overwrit|replac|empty|anew|from scratch|convert|translat|reformat|sort", re.I)


class Action(msgspec.Struct, frozen=True):
    """What the model wrote, read leniently: fields that are missing are empty."""

    action: str = ""
    path: str = ""
    old: str = ""
    new: str = ""
    after: str = ""
    text: str = ""
    to: str = ""
    command: str = ""


class Refused(Exception):
    """The action cannot be meant as it is. The sentence is for the model, which is asked once more."""


class Meant(msgspec.Struct, frozen=True):
    """A call, and what was put right on the way to it."""

    use: ToolUse
    repairs: tuple[str, ...] = ()


def to_call(action: Action, files: Files, turn: Turn) -> Meant:
    """
    Raises:
        Refused: it would change nothing, or it names nothing.
    """
    if NEEDS.get(action.action) not in turn.tools:
        raise Refused(f'There is no action "{action.action}".')
    meant = _meant(action, files, turn)
    _check_form(meant.use, files)
    return meant


def _check_form(use: ToolUse, files: Files) -> None:
    """
    Raises:
        Refused: the change would leave a file that cannot be parsed any more.
    """
    path, given = str(use.input.get("file_path", "")), use.input
    before = files.texts.get(path, "")
    if use.name == "Write":
        after = str(given.get("content", ""))
    elif use.name == "Edit" and path in files.whole:
        times = -1 if given.get("replace_all") is True else 1
        after = before.replace(str(given.get("old_string", "")), str(given.get("new_string", "")), times)
    else:
        return
    name = orphan(path, before, after)
    if name:
        raise Refused(f"{path} still uses {name}. Change the word everywhere with replace_all.")
    broken = new_fault(path, before, after)
    if broken:
        raise Refused(f"That would break {path}: {broken}. Nothing was changed. Do it in another way.")


def _meant(action: Action, files: Files, turn: Turn) -> Meant:
    path = files.short(action.path)
    match action.action:
        case "edit":
            return _edit(action, path, files)
        case "insert":
            return _insert(action, path, files)
        case "replace_all":
            return _replace_all(action, path, files)
        case "append" | "write":
            return _write(action, path, files, turn)
        case "delete":
            return _command(f"rm -- {shlex.quote(path)}", f"Delete {path}")
        case "move":
            if not action.to or action.to == path:
                raise Refused('"to" must be the new path of the file.')
            return _command(f"mv -- {shlex.quote(path)} {shlex.quote(action.to)}", f"Move {path} to {action.to}")
        case "run":
            if not action.command.strip():
                raise Refused('"command" is empty.')
            return _command(action.command, "Run a command")
        case "read":
            return Meant(_use("Read", file_path=path))
        case _:
            if not action.text.strip():
                raise Refused('"text" is empty.')
            return Meant(_use("Grep", pattern=re.escape(action.text), output_mode="content"))


def _edit(action: Action, path: str, files: Files) -> Meant:
    text = files.texts.get(path, "")
    repairs: list[str] = []
    old, new = _cleaned(action.old, repairs), _cleaned(action.new, repairs)
    found = anchored(text, old)
    if found is not None and found != old:
        repairs.append("the white space of the old text was taken from the file")
        old = found
    if is_line(text, old):
        better = indented_as(old, new)
        if better != new:
            repairs.append("the indentation of the replaced line was kept")
            new = better
    if new == old:
        raise Refused('"new" is the same as "old": that changes nothing. Write the changed line in "new".')
    if not new.strip():
        old, new = _whole_line(text, old), ""
    elif path in files.whole and (better_form := mended(path, text, old, new)) is not None:
        old, new, sentence = better_form
        repairs.append(sentence)
    return Meant(_unique(path, text, old, new), tuple(repairs))


def _insert(action: Action, path: str, files: Files) -> Meant:
    text = files.texts.get(path, "")
    repairs: list[str] = []
    after, added = _cleaned(action.after, repairs), _cleaned(action.text, repairs).strip("\n")
    if not added.strip():
        raise Refused('"text" is empty: write the lines to insert.')
    after = anchored(text, after) or after
    if added.startswith(after + "\n"):
        added = added.removeprefix(after + "\n")
        repairs.append("the line before was left out of what is inserted")
    if path.endswith(".py"):
        better = indented_below(text, after, added)
        if better != added:
            repairs.append("the indentation of the block was put in")
            added = better
    return Meant(_unique(path, text, after, f"{after}\n{added}"), tuple(repairs))


def _replace_all(action: Action, path: str, files: Files) -> Meant:
    if not action.old or action.old == action.new:
        raise Refused('"new" must be another word than "old".')
    text = files.texts.get(path, "")
    # A name inside a longer name is another name: then the whole text is written with the words alone replaced.
    words = re.compile(rf"(?<!\w){re.escape(action.old)}(?!\w)")
    if path in files.whole and len(words.findall(text)) != text.count(action.old):
        changed = words.sub(lambda _: action.new, text)
        if changed != text:
            return Meant(_use("Write", file_path=path, content=changed))
    return Meant(_use("Edit", file_path=path, old_string=action.old, new_string=action.new, replace_all=True))


def _write(action: Action, path: str, files: Files, turn: Turn) -> Meant:
    repairs: list[str] = []
    given = _cleaned(action.text, repairs)
    if not path:
        raise Refused('"path" is empty.')
    if action.action == "append" and (text := files.texts.get(path, "")):
        if not given.strip():
            raise Refused('"text" is empty: write the lines to append.')
        if path not in files.whole:
            line = f"printf '%s\\n' {shlex.quote(given.rstrip(chr(10)))} >> {shlex.quote(path)}"
            return Meant(_command(line, f"Append to {path}").use, tuple(repairs))
        given = (text if text.endswith("\n") else text + "\n") + given
    elif path in files.paths:
        _check_loss(path, given, files, turn)
    if given and not given.endswith("\n"):
        given += "\n"
    if given == files.texts.get(path):
        raise Refused("The file has this text already. Do something else.")
    return Meant(_use("Write", file_path=path, content=given), tuple(repairs))


def _check_loss(path: str, given: str, files: Files, turn: Turn) -> None:
    """
    Raises:
        Refused: a file that exists would lose most of what it has, and the task does not speak of that.
    """
    if path not in files.whole:
        raise Refused(f"{path} exists and was not read whole. Use edit, insert or append.")
    before = files.texts.get(path, "")
    count = sum(1 for line in before.split("\n") if line.strip())
    if lost(before, given) * 2 > count and not _ANEW.search(turn.task):
        raise Refused(f"{path} exists, and that would lose what it has. Use append, insert or edit.")


def _cleaned(text: str, repairs: list[str]) -> str:
    for clean, sentence in ((unfenced, "a code fence was taken off"), (unnumbered, "line numbers were taken off")):
        better = clean(text)
        if better != text:
            repairs.append(sentence)
            text = better
    return text


def _whole_line(text: str, old: str) -> str:
    """A line that goes takes its end with it."""
    if f"{old}\n" in text:
        return f"{old}\n"
    return f"\n{old}" if text.endswith(f"\n{old}") else old


def _unique(path: str, text: str, old: str, new: str) -> ToolUse:
    """Edit wants a piece that occurs once: the lines before it are added until it does."""
    if text.count(old) > 1:
        lines = text.split("\n")
        first = old.split("\n")
        size = len(first)
        at = next((n for n in range(len(lines)) if lines[n : n + size] == first), None)
        for start in range((at or 0) - 1, -1, -1):
            lead = "\n".join(lines[start:at]) + "\n"
            if text.count(lead + old) == 1:
                return _use("Edit", file_path=path, old_string=lead + old, new_string=lead + new)
        tail = "\n".join(lines[(at or 0) + size : (at or 0) + size + 2])
        if at is not None and text.count(f"{old}\n{tail}") == 1:
            return _use("Edit", file_path=path, old_string=f"{old}\n{tail}", new_string=f"{new}\n{tail}")
    return _use("Edit", file_path=path, old_string=old, new_string=new)


def _command(command: str, description: str) -> Meant:
    return Meant(_use("Bash", command=command, description=description))


def _use(name: str, **arguments: object) -> ToolUse:
    given: Json = dict(arguments)
    return ToolUse(f"toolu_small_{uuid4().hex[:12]}", name, given)


def from_call(use: ToolUse) -> Json:
    """The action that a call stands for, for a conversation whose answers are not at hand any more."""
    given = {key: value for key, value in use.input.items() if isinstance(value, str)}
    path = given.get("file_path", "")
    match use.name:
        case "Edit":
            kind = "replace_all" if use.input.get("replace_all") is True else "edit"
            return {
                "action": kind,
                "path": path,
                "old": given.get("old_string", ""),
                "new": given.get("new_string", ""),
            }
        case "Write":
            return {"action": "write", "path": path, "text": given.get("content", "")}
        case "Read":
            return {"action": "read", "path": path}
        case "Grep":
            return {"action": "search", "text": given.get("pattern", "")}
        case _:
            return {"action": "run", "command": given.get("command", use.name)}


def what_was_done(use: ToolUse) -> str:
    """A change in a few words, for the report; empty for a call that only looked."""
    match use.name:
        case "Edit" | "Write":
            return f"{use.input.get('file_path')} was changed"
        case "Bash":
            return f"`{use.input.get('command')}` was run"
        case _:
            return ""
