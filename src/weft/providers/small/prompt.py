"""What a small model is told: a short system prompt that never changes, the files, the task, then what happened.

Every message is made from the conversation alone and only grows, so a server that keeps the prefix evaluates the new
tokens of a step and no others.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec

from weft.providers.small.actions import NEEDS, from_call
from weft.providers.small.excerpt import excerpt
from weft.providers.small.shape import may_end, speaks_of
from weft.providers.small.turn import Files, Step, Turn, assistant_message, user_message
from weft.schema.content import Json
from weft.schema.messages import Message

WORK: Final = """\
You work on files, one action at a time. Answer with one JSON object. Do what the task says, no more."""
ASK: Final = """\
You answer questions about files. Answer with one JSON object. Nothing may be changed."""
MANUAL: Final = {
    "delete": 'To delete a file: {"action": "delete", "path": "a.txt"}',
    "move": 'To rename or move a file: {"action": "move", "path": "a.txt", "to": "b.txt"}',
    "write": 'To make a new file: {"action": "write", "path": "a.txt", "text": "all of its lines"}',
    "append": 'To add lines at the end of a file: {"action": "append", "path": "a.txt", "text": "the new lines"}',
    "edit": 'To change a line: {"action": "edit", "path": "a.txt", "old": "the line", "new": "the changed line"}\n'
    'To remove a line: {"action": "edit", "path": "a.txt", "old": "the line", "new": ""}',
    "insert": 'To add lines below a line: {"action": "insert", "path": "a.txt", "after": "the line", "text": "lines"}',
    "replace_all": 'To change a word everywhere in a file: {"action": "replace_all", "path": "a.txt", "old": "word", '
    '"new": "other"}',
    "run": 'To run a command: {"action": "run", "command": "python3 a.py"}',
    "read": 'To see a file: {"action": "read", "path": "a.txt"}',
    "search": 'To find text in all files: {"action": "search", "text": "word"}',
    "answer": 'To answer: {"action": "answer", "text": "a short answer, from what the files say"}',
    "done": 'When all of the task is done: {"action": "done", "text": "a short report"}',
}
"""What each action is for, in the order in which they are told; those that the task has a word for come first."""
_ASKING: Final = ("read", "search", "run", "answer")
_NAMES: Final = 360
"""Characters for the list of files."""
_RESULT: Final = 600
_EARLIER: Final = 400


class Prompt(msgspec.Struct, frozen=True):
    system: str
    messages: tuple[Message, ...]


def make_prompt(
    turn: Turn,
    said: Mapping[str, str],
    *,
    question: bool,
    room: int,
    limit: int,
    refused: Sequence[tuple[str, str]] = (),
) -> Prompt:
    """`said` has the model's own answers by the id of the call that they became. `limit` is how many characters all
    of it may have: the oldest steps are left out first."""
    begin = _opening(turn, room)
    rounds = [_round(turn, at, step, said, room) for at, step in enumerate(turn.steps) if not step.looked]
    size = len(begin) + sum(len(answer) + len(result) for answer, result in rounds)
    while len(rounds) > 2 and size > limit:
        answer, result = rounds.pop(0)
        size -= len(answer) + len(result)
    messages = [user_message(begin)]
    for answer, result in (*rounds, *refused):
        messages += [assistant_message(answer), user_message(result)]
    return Prompt(_system(turn, question=question), tuple(messages))


def _system(turn: Turn, *, question: bool) -> str:
    """The same through the whole turn, and the same for every task of a kind."""
    names = [name for name in MANUAL if (name in _ASKING if question else name != "answer")]
    known = [name for name in names if name in ("done", "answer") or NEEDS[name] in turn.tools]
    offered = [name for name in known if speaks_of(turn.task, name)]
    return "\n".join([ASK if question else WORK, *(MANUAL[name] for name in offered)])


def _opening(turn: Turn, room: int) -> str:
    files = Files(_before_acting(turn.steps))
    return "\n\n".join([*_earlier(turn), *_listing(files), *_shown(files, turn.task, room), f"Task: {turn.task}"])


def _before_acting(steps: Sequence[Step]) -> list[Step]:
    first = next((at for at, step in enumerate(steps) if not step.looked), len(steps))
    return list(steps[:first])


def _earlier(turn: Turn) -> Iterator[str]:
    if turn.earlier:
        asked, answered = turn.earlier[-1]
        yield f"Before this, the task was: {asked[:_EARLIER]}\nIt ended with: {answered[:_EARLIER]}"


def _listing(files: Files) -> Iterator[str]:
    names: list[str] = []
    used = 0
    for path in files.paths:
        used += len(path) + 2
        if used > _NAMES:
            names.append(f"and {len(files.paths) - len(names)} more")
            break
        names.append(path)
    yield "Files: " + (", ".join(names) or "none yet")


def _shown(files: Files, task: str, room: int) -> Iterator[str]:
    share = room // max(len(files.texts), 1)
    for path, text in files.texts.items():
        body = "\n".join(excerpt(text, task, share))
        yield f"{path}:\n```\n{body}\n```" if body else f"{path} is empty."


def _round(turn: Turn, at: int, step: Step, said: Mapping[str, str], room: int) -> tuple[str, str]:
    """What the model answered, and what it is told of it."""
    answer = said.get(step.use.id) or written(from_call(step.use))
    files = Files(turn.steps[: at + 1])
    so_far = msgspec.structs.replace(turn, steps=turn.steps[: at + 1])
    if step.failed:
        news = next((one for one in turn.steps[at + 1 : at + 2] if one.looked and not one.failed), None)
        told = f"Error: {_cut(step.text)}"
        if news is not None:
            files = Files(turn.steps[: at + 2])
            path = files.short(str(news.use.input.get("file_path")))
            body = "\n".join(excerpt(files.texts.get(path, ""), turn.task, room // 2))
            told += f"\n{path} has:\n```\n{body}\n```"
        return answer, f"{told}\nDo another action that works."
    told = _told(step, files, turn.task, room)
    after = "If the task is now done, answer done. If not, do the next action." if may_end(so_far) else "Go on."
    return answer, f"{told}\n{after}"


def _told(step: Step, files: Files, task: str, room: int) -> str:
    path = files.short(str(step.use.input.get("file_path", "")))
    match step.use.name:
        case "Edit":
            new = str(step.use.input.get("new_string", ""))
            return f"OK. {path} has now:\n```\n{_around(files.texts.get(path, ''), new)}\n```"
        case "Write":
            return f"OK. {path} is written."
        case "Read":
            return f"{path}:\n```\n" + "\n".join(excerpt(files.texts.get(path, ""), task, room // 2)) + "\n```"
        case "Grep":
            return f"Found:\n{_cut(step.text)}"
        case _:
            quiet = step.text.startswith("(Bash completed")
            return "OK." if quiet else f"OK. Output:\n{_cut(step.text)}"


def _around(text: str, new: str) -> str:
    """A changed place with two lines on either side."""
    lines = text.split("\n")
    at = text.find(new) if new else -1
    first = text.count("\n", 0, at) if at >= 0 else 0
    last = first + new.count("\n")
    return _cut("\n".join(lines[max(0, first - 2) : last + 3]))


def _cut(text: str) -> str:
    return text if len(text) <= _RESULT else f"{text[: _RESULT // 2]}\n…\n{text[-_RESULT // 2 :]}"


def written(action: Json) -> str:
    """An action as the grammar has it."""
    return json.dumps(action, ensure_ascii=False)
