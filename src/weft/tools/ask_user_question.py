"""AskUserQuestion: the model asks the person."""

from typing import Annotated

import msgspec
from msgspec import Meta

from weft.errors import ToolError
from weft.schema.events import Question, QuestionOption
from weft.tools.port import Result, Tool, ToolContext


class OptionArg(msgspec.Struct, frozen=True):
    label: Annotated[str, Meta(description="A few words: what is chosen.", min_length=1)]
    description: Annotated[str, Meta(description="What it means to choose it.")] = ""
    preview: Annotated[str, Meta(description="Text to look at, such as code, if that helps to choose.")] = ""


class QuestionArg(msgspec.Struct, frozen=True):
    question: Annotated[str, Meta(description="The question, as a sentence.", min_length=1)]
    header: Annotated[str, Meta(description="One or two words that name the matter.")] = ""
    options: Annotated[tuple[OptionArg, ...], Meta(description="Choices; none for a free answer.", max_length=10)] = ()
    multiSelect: Annotated[bool, Meta(description="Several may be chosen.")] = False


class AskUserQuestionArgs(msgspec.Struct, frozen=True):
    questions: Annotated[tuple[QuestionArg, ...], Meta(description="One to four.", min_length=1, max_length=4)]


class AskUserQuestion(Tool[AskUserQuestionArgs]):
    name = "AskUserQuestion"
    args = AskUserQuestionArgs
    kind = "other"
    group = "other"
    read_only = True

    def is_read_only(self, args: AskUserQuestionArgs) -> bool:
        """It changes nothing, but a person answers one thing at a time: never beside other calls."""
        return False

    def title(self, args: AskUserQuestionArgs) -> str:
        return args.questions[0].question

    async def run(self, args: AskUserQuestionArgs, context: ToolContext) -> Result:
        texts = [each.question for each in args.questions]
        if len(set(texts)) < len(texts):
            raise ToolError("two questions are the same: answers are told apart by their question")
        questions = [
            Question(
                each.question,
                each.header,
                tuple(QuestionOption(option.label, option.description, option.preview) for option in each.options),
                multiple=each.multiSelect,
            )
            for each in args.questions
        ]
        answers = await context.asker.question(context.use.id, questions)
        if answers is None:
            raise ToolError("nobody is there to answer. Decide yourself what fits best, and say what you assumed.")
        lines = [f"{question}\n  {answers.get(question) or '(no answer)'}" for question in texts]
        return Result(
            content="The person answered:\n" + "\n".join(lines),
            data={"questions": [msgspec.to_builtins(each) for each in args.questions], "answers": answers},
        )
