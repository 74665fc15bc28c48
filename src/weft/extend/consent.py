"""Whether a plug-in may use the person's models: asked on first use, kept by plug-in."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

from weft.errors import SettingsError
from weft.schema.events import Question, QuestionOption
from weft.settings.layers import as_object
from weft.settings.write import edit_file

logger = logging.getLogger(__name__)

ALWAYS: Final = "Always"
SESSION: Final = "In this session"
NEVER: Final = "No"

Ask = Callable[[str, Sequence[Question]], Awaitable[dict[str, str] | None]]


class Consent:
    """The person's word, in `plugins.json` of Weft's home: `{"models": {"<plug-in>": true}}`. Where nobody can be
    asked the answer is no, and it is not kept."""

    def __init__(self, home: Path, ask: Ask) -> None:
        self._path = home / "plugins.json"
        self._ask = ask
        self._session: dict[str, bool] = {}

    def known(self, plugin: str) -> bool | None:
        if plugin in self._session:
            return self._session[plugin]
        try:
            data = msgspec.json.decode(self._path.read_bytes(), type=dict[str, object])
        except (OSError, msgspec.DecodeError, UnicodeError, RecursionError):
            return None
        word = as_object(data.get("models")).get(plugin)
        return word if isinstance(word, bool) else None

    async def models(self, plugin: str, justification: str) -> bool:
        known = self.known(plugin)
        if known is not None:
            return known
        why = f" It says: {justification.strip()[:300]}" if justification.strip() else ""
        question = Question(
            f"The plug-in {plugin} wants to use your language models. It pays with your keys.{why} Allow it?",
            header="Plug-in",
            options=(QuestionOption(SESSION), QuestionOption(ALWAYS), QuestionOption(NEVER)),
            free_text=False,
        )
        answers = await self._ask("", (question,))
        if answers is None:
            return False
        chosen = next(iter(answers.values()), NEVER)
        self._session[plugin] = chosen in (ALWAYS, SESSION)
        if chosen == ALWAYS:
            self.keep(plugin, allowed=True)
        return self._session[plugin]

    def keep(self, plugin: str, *, allowed: bool | None) -> None:
        """Writes the word down; None forgets it."""

        def change(data: dict[str, object]) -> None:
            words = dict(as_object(data.get("models")))
            words.pop(plugin, None)
            data["models"] = words if allowed is None else {**words, plugin: allowed}

        try:
            edit_file(self._path, change)
        except SettingsError as error:
            logger.warning("the consent for %s could not be kept: %s", plugin, error)
