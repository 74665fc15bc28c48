"""No prompt is lost: what is kept of one whose turn ended before it joined the history."""

from weft.agent.history import History
from weft.agent.turn import Turn
from weft.schema.commands import Prompt
from weft.schema.content import Text, text_of
from weft.schema.wire import as_blocks

REMINDER = "<system-reminder>"
STOPPED = "<bash-stderr>Stopped by the person before it ended.</bash-stderr>"
INTERRUPTED = {
    "streaming": "[Request interrupted by user]",
    "tools": "[Request interrupted by user for tool use]",
}


def mark_interrupt(history: History, turn: Turn) -> None:
    """The model reads that the person stopped the turn."""
    history.add_prompt((Text(INTERRUPTED[turn.phase]),), synthetic=True)


def keep(history: History, prompt: Prompt, turn: Turn) -> None:
    """The prompt as it was typed joins the history. One that a hook has not let pass yet is kept for the person to
    see, and no model is told of it. A command for the session itself is over; of a shell line it is said that it ran.
    """
    if turn.shell is not None:
        history.add_prompt((Text(f"<bash-input>{turn.shell}</bash-input>\n{STOPPED}"),), record_id=prompt.id)
        turn.asked = True
    elif not turn.own:
        content, unsent = as_blocks(prompt.content), not turn.vetted
        history.add_prompt(content, record_id=prompt.id, synthetic=prompt.synthetic, unsent=unsent)
        history.scribe.mark("last-prompt", {"lastPrompt": text_of(content)[:2000], "leafUuid": prompt.id})
        turn.asked = turn.vetted


def unopened(history: History) -> bool:
    """Whether the model still has to be told what stands in front of every conversation: so far there are only prompts
    that it never saw."""
    return all(
        message.role == "user"
        and not any(
            isinstance(block, Text) and block.text.startswith((REMINDER, "<first-request>"))
            for block in message.content
        )
        for message in history.messages
    )
