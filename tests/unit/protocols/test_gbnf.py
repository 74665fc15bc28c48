"""Grammars for llama.cpp from our schemas. The real llama.cpp judges them in tests/conformance/llama."""

import pytest

from weft.errors import LocalProtocolError
from weft.protocols.gbnf import encode_grammar
from weft.schema.content import Json


def test_an_object_is_written_as_json_dumps_would():
    schema: Json = {"type": "object", "properties": {"action": {"const": "run"}, "command": {"type": "string"}}}
    first = encode_grammar(schema).split("\n")[0]
    assert first == r'root ::= "{\"action\": " "\"run\"" ", \"command\": " string "}"'


def test_choices_and_their_escapes():
    schema: Json = {"anyOf": [{"enum": ['say "hi"\n', "tab\there"]}, {"const": 3}]}
    first = encode_grammar(schema).split("\n")[0]
    assert first == r'root ::= (("\"say \\\"hi\\\"\\n\"" | "\"tab\\there\"") | "3")'


def test_what_has_no_grammar_is_an_error():
    with pytest.raises(LocalProtocolError):
        encode_grammar({"type": "array"})
