"""Text from a server as a person may safely see it: what hides is shown escaped, what smells is named."""

import re
import unicodedata

# Not compiled here: most sessions have no server, and `re` keeps what it has compiled.
_ANSI = r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)"
_ORDERS = (
    r"(?is)<\s*/?\s*(important|system|instructions?|secret|admin)\s*>"
    r"|\b(ignore|disregard|forget)\b.{0,40}\b(previous|prior|above|earlier|all)\b.{0,40}\b(instructions?|rules?|prompts?)"
    r"|\bdo not (tell|mention|inform|show|reveal)\b.{0,40}\b(user|person|human)"
    r"|(~/\.ssh|id_rsa|id_ed25519|\.aws/credentials|\.netrc|/etc/(passwd|shadow))"
    r"|\bbefore (using|calling|you use|you call)\b.{0,60}\b(read|send|pass|call|run)\b"
)


def _hidden(char: str) -> bool:
    code = ord(char)
    if char in "\n\t":
        return False
    return unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs") or 0xE0000 <= code <= 0xE007F or code == 0x115F


def visible(text: str) -> str:
    """The text with control, zero-width, direction and tag characters written as `\\u{…}`."""
    return "".join(f"\\u{{{ord(char):x}}}" if _hidden(char) else char for char in text)


def plain(text: str) -> str:
    """The text without terminal codes and hidden characters: what the model is told."""
    return "".join(char for char in re.sub(_ANSI, "", text) if not _hidden(char))


def smells(text: str) -> tuple[str, ...]:
    """What is suspicious about a description; empty for most."""
    found: list[str] = []
    if re.search(_ANSI, text):
        found.append("terminal codes")
    if any(_hidden(char) for char in re.sub(_ANSI, "", text)):
        found.append("hidden characters")
    if re.search(_ORDERS, text):
        found.append("orders to the model")
    return tuple(found)


def skeleton(name: str) -> str:
    """What a name looks like at a glance: two names with one skeleton are easily confused."""
    folded = unicodedata.normalize("NFKD", name).casefold()
    letters = "".join(_TWINS.get(char, char) for char in folded if not unicodedata.combining(char))
    return re.sub(r"[^a-z0-9]", "", letters.replace("rn", "m").translate(str.maketrans("01l", "oii")))


_TWINS = dict(
    zip(
        "аеорсухіјѕһԁԛԝвкмнтαβεικνορτυχω",
        "aeopcyxijshdqwbkmhtabeiknoptuxw",
        strict=True,
    )
)
