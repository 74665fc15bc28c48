"""Models that an agent's definition asks for, in the order of its wishes."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import msgspec

from weft.errors import WeftError
from weft.providers.listed import Choice, ListedProvider
from weft.providers.port import Provider

if TYPE_CHECKING:
    from weft.sdk.compose import Chosen, Ground


async def first_of(ground: "Ground", names: Sequence[str], note: Callable[[str], None]) -> "Chosen | None":
    """The first of these models that can be had, with the others behind it for when it fails; None when there is
    none, which is noted."""
    found: list[Chosen] = []
    for name in names:
        try:
            found.append(await ground.find_model(name))
        except WeftError as error:
            note(f"The model {name} cannot be had. {error.whole}")
    if len(found) < 2:
        return found[0] if found else None
    listed = ListedProvider([_fixed(one) for one in found], owned=[one.provider for one in found])
    return msgspec.structs.replace(found[0], provider=listed)


async def choices(
    ground: "Ground", names: Sequence[str], note: Callable[[str], None]
) -> tuple[list[Choice], list[Provider]]:
    """Who answers for each of these models beside the session's own, those that cannot be had left out and noted; and
    the providers that were opened for it. A model of the session's own family is its provider's business."""
    chosen: list[Choice] = []
    opened: list[Provider] = []
    for name in names:
        model = _beside(ground, name)
        if model is not None:
            chosen.append(_sessions(ground, model))
            continue
        try:
            found = await ground.find_model(name)
        except WeftError as error:
            note(f"the model {name} cannot be had. {error.whole}")
            continue
        opened.append(found.provider)
        chosen.append(_fixed(found))
    return chosen, opened


def _beside(ground: "Ground", name: str) -> str | None:
    """The id of a model that the session's own provider has; None for one that has to be looked for."""
    if ground.plugins.joined is not None:
        return None
    known = ground.resolved.catalogue
    model = known.resolve(name, ground.env)
    if ground.overrides.provider is not None:
        return model
    same = known.facts(model).family in ("", known.facts(ground.resolved.model).family)
    return model if same and ":" not in name else None


def _sessions(ground: "Ground", model: str) -> Choice:
    return lambda: (ground.provider(), model)


def _fixed(chosen: "Chosen") -> Choice:
    return lambda: (chosen.provider, chosen.model)
