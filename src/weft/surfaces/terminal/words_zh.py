"""Chinese words of the terminal."""

WORDS: dict[str, str] = {}
