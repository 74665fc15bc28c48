"""Back to before a message: the conversation only. The files are brought back by `tools/checkpoints.py`.

Nothing is removed from the log. A mark says where the conversation stands now, and the next record's parent is
there: what came after is a branch that nobody follows.
"""

from collections.abc import Sequence

import msgspec

from weft.errors import SessionError
from weft.schema.messages import Message
from weft.schema.records import ChainRecord, MarkRecord, Record, UserRecord
from weft.sessions.listing import is_prompt, prompt_text
from weft.sessions.resume import chain_of, to_history


class Rewound(msgspec.Struct, frozen=True, kw_only=True):
    """The conversation before the message: its history, its tip, the mark to append, the text that was taken back."""

    history: tuple[Message, ...]
    tip: str | None
    mark: MarkRecord
    prompt: str


class RewindPoint(msgspec.Struct, frozen=True):
    """A prompt that one may go back to."""

    message_id: str
    text: str
    timestamp: str


def points(records: Sequence[Record]) -> tuple[RewindPoint, ...]:
    """The prompts of the conversation as it stands, oldest first."""
    return tuple(
        RewindPoint(record.origin.uuid, prompt_text(record), record.origin.timestamp)
        for record in chain_of(records)
        if isinstance(record, UserRecord) and is_prompt(record)
    )


def rewind(records: Sequence[Record], message_id: str, session_id: str = "") -> Rewound:
    """The conversation cut to before the user message `message_id` (its uuid, or the id it was sent with).

    Raises:
        SessionError: the conversation has no such message.
    """
    chain = chain_of(records)
    for index, record in enumerate(chain):
        if isinstance(record, UserRecord) and message_id in (record.origin.uuid, record.prompt_id):
            kept = _without_notes(chain[:index])
            tip = kept[-1].origin.uuid if kept else None
            mark = MarkRecord(kind="rewind", session_id=session_id, data={"leafUuid": tip, "messageId": message_id})
            return Rewound(history=to_history(kept), tip=tip, mark=mark, prompt=prompt_text(record))
    raise SessionError(f"There is no message {message_id} to go back to.", hint="`/rewind` lists the messages.")


def _without_notes(chain: Sequence[ChainRecord]) -> Sequence[ChainRecord]:
    """What was told in front of the message goes with it."""
    end = len(chain)
    while end and isinstance(note := chain[end - 1], UserRecord) and note.meta and not note.summary:
        end -= 1
    return chain[:end]
