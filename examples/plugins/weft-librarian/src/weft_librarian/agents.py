"""Agent definitions from `readers/*.txt` of the project: one file is one agent."""

from collections.abc import Sequence

from weft.extend.api import AgentOffer, Host


class Readers:
    def agents(self, host: Host) -> Sequence[AgentOffer]:
        return [
            AgentOffer(
                name=path.stem,
                description=f"Reads as {path.stem} would.",
                prompt=path.read_text("utf-8"),
                fields={"tools": ["Read", "Grep"]},
            )
            for path in sorted((host.folders[0] / "readers").glob("*.txt"))
        ]
