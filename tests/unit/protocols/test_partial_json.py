import time

import pytest

from weft.errors import RemoteProtocolError
from weft.protocols.partial_json import PartialJson


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("{", {}),
        ('{"pa', {}),
        ('{"path"', {}),
        ('{"path":', {}),
        ('{"path": "', {"path": ""}),
        ('{"path": "a b', {"path": "a b"}),
        ('{"path": "a\\', {"path": "a"}),
        ('{"path": "a\\n', {"path": "a\n"}),
        ('{"path": "a\\\\', {"path": "a\\"}),
        ('{"path": "a\\"', {"path": 'a"'}),
        ('{"path": "a\\u00', {"path": "a"}),
        ('{"path": "a\\u00e9', {"path": "aé"}),
        ('{"path": "a\\ud83d', {"path": "a"}),
        ('{"path": "a\\ud83d\\', {"path": "a"}),
        ('{"path": "a\\ud83d\\ude', {"path": "a"}),
        ('{"path": "a\\ud83d\\ude00', {"path": "a😀"}),
        ('{"a": 1', {}),
        ('{"a": 1,', {"a": 1}),
        ('{"a": 1, "b', {"a": 1}),
        ('{"a": tru', {}),
        ('{"a": true ', {"a": True}),
        ('{"a": -', {}),
        ('{"a": [1, 2', {"a": [1]}),
        ('{"a": [1, {"b": "x', {"a": [1, {"b": "x"}]}),
        ('{"a": ["x", ', {"a": ["x"]}),
        ('{"a": {"b": null}', {"a": {"b": None}}),
        ('{"a": "}{]["', {"a": "}{]["}),
    ],
)
def test_an_unfinished_text_has_the_value_of_what_is_whole(text: str, value: object) -> None:
    at_once, by_one = PartialJson(), PartialJson()
    at_once.feed(text)
    for character in text:
        by_one.feed(character)
    assert at_once.value() == by_one.value() == value
    assert not at_once.complete and not by_one.complete


def test_a_backslash_before_the_closing_quote_does_not_open_an_escape() -> None:
    parser = PartialJson()
    parser.feed('{"a": "\\\\"')
    parser.feed("}")
    assert parser.complete
    assert parser.finish() == {"a": "\\"}


@pytest.mark.parametrize("text", ['{"a": 1', "{]", '{"a": 1} extra', '{"a": "\x01"}', "[" * 5000])
def test_finish_repairs_nothing(text: str) -> None:
    parser = PartialJson()
    parser.feed(text)
    with pytest.raises(RemoteProtocolError):
        parser.finish()


@pytest.mark.parametrize("text", ["", "  \n"])
def test_no_text_is_a_tool_without_arguments(text: str) -> None:
    parser = PartialJson()
    parser.feed(text)
    assert parser.finish() == {}


def test_asking_after_every_piece_stays_linear() -> None:
    def seconds(size: int) -> float:
        parser = PartialJson()
        began = time.process_time()
        parser.feed('{"content": "')
        for _ in range(size // 20):
            parser.feed("0123456789 12345678\\")
            parser.feed("n")
            parser.latest()
        return time.process_time() - began

    seconds(10_000)
    small, large = min(seconds(100_000) for _ in range(3)), seconds(800_000)
    assert large < small * 8 * 3


def test_the_latest_value_lags_by_a_tenth_at_most() -> None:
    parser = PartialJson()
    parser.feed('{"a": "')
    for count in range(1, 500):
        parser.feed("0123456789")
        latest = parser.latest()
        assert isinstance(latest, dict)
        assert len(str(latest.get("a", ""))) >= count * 10 * 0.9 - 80
