"""
title: flinch
version: 0.1.0
license: Apache-2.0
required_open_webui_version: 0.12.0
description: Shows above an answer which steps a flinch gateway flagged, and its verdict on the answer.
"""

from typing import Any, Literal

from pydantic import BaseModel, Field


def percent(risk: float | None) -> str:
    """A rank near 100 % is not rounded up to it."""
    return "" if risk is None else f" (rank {min(100 * risk, 99.99):.2f} %)"


def shortened(text: str, most: int = 80) -> str:
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


class Filter:
    class Valves(BaseModel):
        priority: int = Field(default=0, description="Order among filters.")
        action: Literal["", "annotate", "stop", "rollback"] = Field(
            default="", description="What happens to a flagged step. Empty: as the gateway decides."
        )
        rate: float | None = Field(
            default=None, gt=0, lt=1, description="Share of ordinary steps that are flagged. Empty: as the gateway decides."
        )

    def __init__(self) -> None:
        self.valves = self.Valves()
        # Messages whose verdict has come. One instance serves all chats.
        self.judged: set[str] = set()

    async def inlet(self, body: dict, __metadata__: dict | None = None) -> dict:
        """Sets the guard's fields, if the administrator has chosen some."""
        self.judged.discard(message_of(__metadata__))
        chosen = {"action": self.valves.action, "rate": self.valves.rate}
        guard = {name: value for name, value in chosen.items() if value}
        return {**body, "guard": {**body.get("guard", {}), **guard}} if guard else body

    async def stream(self, event: dict, __event_emitter__=None, __metadata__: dict | None = None) -> dict:
        """Reads a chunk and passes it on as it is."""
        try:
            for line in self.read(event, message_of(__metadata__)):
                await show(__event_emitter__, line)
        except Exception as error:  # Open WebUI drops a chunk whose filter raises.
            await show(__event_emitter__, f"flinch: filter failed: {error!r}")
        return event

    async def outlet(self, body: dict, __event_emitter__=None, __metadata__: dict | None = None) -> dict:
        """An answer without a verdict was not judged, which is not the same as clean."""
        message = message_of(__metadata__)
        if message not in self.judged:
            await show(__event_emitter__, "flinch: answer not judged: no verdict came with it")
        self.judged.discard(message)
        return body

    def read(self, chunk: dict[str, Any], message: str) -> list[str]:
        flinch = chunk.get("flinch") or {}
        if "guard" in flinch:  # Begins a generation; with tools a message has several.
            self.judged.discard(message)
        lines = [line for each in flinch.get("events", []) if (line := event_line(each))]
        if verdict := flinch.get("verdict"):
            self.judged.add(message)
            lines.append(verdict_line(verdict))
        return lines


def message_of(metadata: dict | None) -> str:
    metadata = metadata or {}
    return f"{metadata.get('chat_id')}/{metadata.get('message_id')}"


async def show(emit, description: str) -> None:
    if emit:
        await emit({"type": "status", "data": {"description": description, "done": True}})


def event_line(event: dict[str, Any]) -> str | None:
    if event["type"] == "step.flagged":
        # Only what stays in the answer is shown: the user is not to read what the guard took out.
        what = shortened(event["text"]) if event["action"] == "annotate" else event["action"]
        return f"flinch: flagged step{percent(event['risk'])}: {what}"
    if event["type"] == "rollback.done":
        return f"flinch: the flagged step was {event['outcome']}"
    return None


def verdict_line(verdict: dict[str, Any]) -> str:
    if verdict["flagged"] is None:
        return f"flinch: answer not judged: {verdict['reason']}"
    steps = f"{verdict['flagged_steps']} of {verdict['steps']} steps flagged"
    answer = "answer flagged" if verdict["flagged"] else "answer not flagged"
    return f"flinch: {answer}{percent(verdict['risk'])}, {steps}"
