import pytest

from weft.protocols.failures import failure_of_answer, retry_after_of

SERVER = "http://127.0.0.1:1"


@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable"),
    [
        (400, b'{"type":"error","error":{"type":"invalid_request_error","message":"no"}}', "invalid_request", False),
        (400, b'{"error":{"message":"prompt is too long: 9 tokens > 8"}}', "prompt_too_long", False),
        (400, b'{"error":{"message":"x","code":"context_length_exceeded"}}', "prompt_too_long", False),
        (401, b'{"error":{"type":"authentication_error","message":"bad key"}}', "authentication_failed", True),
        (403, b"{}", "authentication_failed", False),
        (404, b'{"detail":"Not Found"}', "model_not_found", False),
        (413, b"", "too_large", False),
        (429, b'{"error":{"message":"slow"}}', "rate_limit", True),
        (429, b'{"error":{"message":"pay","type":"insufficient_quota"}}', "billing_error", False),
        (500, b"oops", "server_error", True),
        (502, b"<html>bad gateway</html>", "server_error", True),
        (529, b'{"error":"busy"}', "overloaded", True),
        (200, b"<!DOCTYPE html><p>", "protocol", False),
        (200, b"", "protocol", False),
        (200, b"hello", "protocol", False),
    ],
)
def test_every_answer_that_is_no_reply_has_a_kind_and_a_sentence(
    status: int, body: bytes, kind: str, retryable: bool
) -> None:
    failed = failure_of_answer(status, {}, body, server=SERVER)
    assert (failed.error, failed.retryable, failed.status) == (kind, retryable, status)
    assert failed.message and "\n" not in failed.message


def test_a_web_page_is_called_one_and_says_what_to_check() -> None:
    failed = failure_of_answer(200, {"content-type": "text/html"}, b"<html>login</html>", server=SERVER)
    assert "web page" in failed.message and SERVER in failed.message
    assert failed.hint is not None and "base URL" in failed.hint


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "-1"}, 0.0),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Sun, 06 Nov 1994 08:49:40 GMT", "date": "Sun, 06 Nov 1994 08:49:37 GMT"}, 3.0),
        ({"retry-after": "soon"}, None),
    ],
)
def test_retry_after_is_read_in_all_its_spellings(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_of(headers) == seconds


def test_the_servers_own_word_on_retrying_wins() -> None:
    assert not failure_of_answer(500, {"x-should-retry": "false"}, b"", server=SERVER).retryable
    assert failure_of_answer(400, {"x-should-retry": "true"}, b"", server=SERVER).retryable
