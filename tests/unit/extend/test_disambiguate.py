"""Who is meant when nobody is named."""

from weft.extend.disambiguate import guess
from weft.extend.manifest import CommandEntry, Disambiguation, ParticipantEntry

SQL = ParticipantEntry(
    id="a.sql",
    name="sql",
    run="m:f",
    disambiguation=(Disambiguation("query", "", ("Write a query that counts the orders of a customer",)),),
    command=(
        CommandEntry(
            name="explain", disambiguation=(Disambiguation("explain", "", ("Explain the plan of this query",)),)
        ),
    ),
)
MAIL = ParticipantEntry(
    id="a.mail", name="mail", run="m:f", disambiguation=(Disambiguation("send", "", ("Send a mail to the team",)),)
)


def test_a_prompt_like_an_example_is_for_that_participant() -> None:
    found = guess("please write queries that count orders of customers", (SQL, MAIL))
    assert found is not None and (found.participant, found.command) == ("sql", "")


def test_a_command_can_be_what_is_meant() -> None:
    found = guess("Explain this query's plan", (SQL, MAIL))
    assert found is not None and (found.participant, found.command) == ("sql", "explain")


def test_a_prompt_that_is_like_nothing_is_for_weft() -> None:
    assert guess("Fix the failing test in tally.py", (SQL, MAIL)) is None
    assert guess("query", (SQL, MAIL)) is None
    assert guess("", (SQL,)) is None
    assert guess("write a query that counts " * 40, (SQL,)) is None


def test_two_that_fit_alike_leave_it_to_weft() -> None:
    twin = ParticipantEntry(id="b", name="twin", run="m:f", disambiguation=SQL.disambiguation)
    assert guess("Write a query that counts the orders of a customer", (SQL, twin)) is None
