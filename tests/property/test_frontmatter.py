"""Front matter: any text is read, and what people write is what they get."""

from hypothesis import given
from hypothesis import strategies as st

from weft.protocols import frontmatter

keys = st.from_regex(r"[a-z][a-z-]{0,10}", fullmatch=True)
plain = st.from_regex(r"[A-Za-z][A-Za-z ,.()/:-]{0,30}", fullmatch=True).map(str.strip)


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    fields, body = frontmatter.split(text)
    assert isinstance(fields, dict) and isinstance(body, str)
    frontmatter.split(f"---\n{text}\n---\nbody")


@given(st.dictionaries(keys, plain, min_size=1, max_size=5), st.text(max_size=40))
def test_lines_of_words_are_what_they_say_also_with_colons_in_them(fields: dict[str, str], body: str) -> None:
    """The fallback: no value is lost for a colon, a bracket or a word that YAML would turn into something else."""
    head = "\n".join(f"{key}: {value}" for key, value in fields.items())
    found, rest = frontmatter.split(f"---\n{head}\n---\n{body}")
    assert rest == body
    for key, value in fields.items():
        if value.lower() not in ("true", "false", "null") and not value.endswith(":"):
            assert frontmatter.text(found, key) == value


@given(st.sampled_from(["on", "off", "yes", "no", "Yes", "NO"]))
def test_words_for_yes_and_no_stay_words_and_can_be_read_as_flags(word: str) -> None:
    fields, _ = frontmatter.split(f"---\na: {word}\nb:\n  - {word}\n---\n")
    assert fields == {"a": word, "b": [word]}
    assert frontmatter.flag(fields, "a") is (word.lower() in ("on", "yes"))


def test_lists_in_every_spelling_are_the_same() -> None:
    for text in ("a, b(c, d), e", "[a, 'b(c, d)', e]", "\n  - a\n  - b(c, d)\n  - e"):
        fields, _ = frontmatter.split(f"---\ntools: {text}\n---\n")
        assert frontmatter.words(fields, "tools") == ("a", "b(c, d)", "e"), text


def test_aliases_and_python_tags_are_not_carried_out() -> None:
    bomb = "a: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]"
    fields, _ = frontmatter.split(f"---\n{bomb}\n---\n")
    assert all(isinstance(value, str) for value in fields.values())
    fields, _ = frontmatter.split("---\nx: !!python/object/apply:os.system ['true']\n---\n")
    assert isinstance(fields["x"], str)


def test_a_file_without_front_matter_is_all_body() -> None:
    for text in ("hello", "--- \nnot closed", "a\n---\nb\n---\n", ""):
        assert frontmatter.split(text) == ({}, text)
