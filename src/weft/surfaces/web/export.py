"""A conversation as a file to keep: Markdown for people, JSON for programs. Works for any agent."""

import msgspec

from weft.schema.content import text_of
from weft.schema.events import AgentEvent, MessageDone, PromptAdded, ToolCalled, ToolEnded

MOST_OUTPUT = 4_000


class Entry(msgspec.Struct, frozen=True, omit_defaults=True):
    role: str
    text: str = ""
    tool: str = ""
    input: object = None
    error: bool = False


class Transcript:
    """Keeps what was said, from the events, in order."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    def take(self, event: AgentEvent) -> None:
        match event:
            case PromptAdded(synthetic=False, parent=None):
                self._entries[f"user:{event.id}"] = Entry("user", text_of(event.content))
            case MessageDone(parent=None, reply=reply) if reply.text:
                self._entries[f"reply:{reply.id}"] = Entry("assistant", reply.text, error=event.error is not None)
            case ToolCalled(parent=None, use=use):
                self._entries.setdefault(f"tool:{use.id}", Entry("tool", tool=use.name, input=use.input))
            case ToolEnded(parent=None, tool_use_id=id, result=result):
                known = self._entries.get(f"tool:{id}", Entry("tool", tool=event.name))
                text = text_of(result.content)
                self._entries[f"tool:{id}"] = msgspec.structs.replace(known, text=text, error=result.is_error)
            case _:
                pass

    def cut(self, message_id: str) -> None:
        keys = list(self._entries)
        if f"user:{message_id}" in self._entries:
            for key in keys[keys.index(f"user:{message_id}") :]:
                del self._entries[key]

    def clear(self) -> None:
        self._entries.clear()

    def to_json(self, title: str) -> str:
        whole = {"title": title, "messages": list(self._entries.values())}
        return msgspec.json.format(msgspec.json.encode(whole), indent=2).decode() + "\n"

    def to_markdown(self, title: str) -> str:
        parts = [f"# {title or 'Conversation'}"]
        for entry in self._entries.values():
            if entry.role == "tool":
                parts.append(_tool(entry))
            else:
                parts.append(f"## {'You' if entry.role == 'user' else 'Agent'}\n\n{entry.text}")
        return "\n\n".join(parts) + "\n"


def _tool(entry: Entry) -> str:
    arguments = msgspec.json.format(msgspec.json.encode(entry.input), indent=2).decode()
    shown = entry.text[:MOST_OUTPUT] + ("\n…" if len(entry.text) > MOST_OUTPUT else "")
    fence = "`" * max(3, _longest_run(arguments + shown) + 1)
    result = f"\n\n{fence}\n{shown}\n{fence}" if shown else ""
    return f"### {entry.tool}{' (failed)' if entry.error else ''}\n\n{fence}json\n{arguments}\n{fence}{result}"


def _longest_run(text: str) -> int:
    longest = run = 0
    for letter in text:
        run = run + 1 if letter == "`" else 0
        longest = max(longest, run)
    return longest
