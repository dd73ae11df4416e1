"""
A guardrail for LiteLLM's proxy: streamed answers are scored by a flinch gateway while they pass.

Every chunk goes on as it came, at once. What is known is logged, and recorded in the guardrail information of LiteLLM's
logs. `config.yaml` beside this file shows how it is set up, docs/how-to/litellm.md how it behaves.
"""

import asyncio
import json
import time
from typing import Any, AsyncGenerator, Literal

from litellm._logging import verbose_proxy_logger
from litellm.exceptions import GuardrailRaisedException
from litellm.integrations.custom_guardrail import CustomGuardrail
from litellm.types.guardrails import GuardrailEventHooks
from websockets.asyncio.client import ClientConnection, connect

# Seconds. A gateway that scores is heard of every 15 s.
CONNECT = 5
SILENCE = 45
# The gateway takes 50 messages per second; parts of a text that come faster are sent together.
PAUSE = 0.05


class FlinchGuardrail(CustomGuardrail):
    def __init__(
        self,
        api_base: str,
        api_key: str | None = None,
        additional_provider_specific_params: dict[str, Any] | None = None,
        unreachable_fallback: Literal["fail_closed", "fail_open"] = "fail_closed",
        block: bool = False,
        **kwargs: Any,
    ) -> None:
        """
        model, in additional_provider_specific_params: the gateway's model that scores.
        unreachable_fallback: whether a stream that cannot be scored ends with an error, or goes on.
        block: whether a stream ends with an error at a flagged step, or where its verdict is flagged.
        """
        self.url = api_base.rstrip("/").replace("http", "ws", 1) + "/v1/stream"
        self.headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self.model = (additional_provider_specific_params or {})["model"]
        self.fails_closed = unreachable_fallback != "fail_open"
        self.block = block
        super().__init__(supported_event_hooks=[GuardrailEventHooks.post_call], **kwargs)

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict
    ) -> AsyncGenerator[Any, None]:
        began = time.time()
        scoring = Scoring(self, request_data)
        try:
            async for chunk in response:
                await scoring.read(chunk)
                self.check(scoring)
                yield chunk
            await scoring.finish()
            self.check(scoring)
        finally:
            scoring.close()
            self.record(scoring, request_data, began)

    def check(self, scoring: "Scoring") -> None:
        """Ends the stream, if that is what was chosen."""
        if scoring.error and self.fails_closed:
            raise GuardrailRaisedException(guardrail_name=self.guardrail_name, message=f"flinch: {scoring.error}")
        if self.block and scoring.is_flagged:
            raise GuardrailRaisedException(
                guardrail_name=self.guardrail_name,
                message="flinch: the model was unsure of its answer",
                should_wrap_with_default_message=False,
                blocked_content=True,
            )

    def record(self, scoring: "Scoring", request_data: dict, began: float) -> None:
        status, reason = scoring.status(self.block)
        ended = time.time()
        if status != "success":
            verbose_proxy_logger.warning("flinch: %s: %s", status, reason)
        self.add_standard_logging_guardrail_information_to_request_data(
            guardrail_json_response={
                "reason": reason,
                "verdict": scoring.verdict,
                "flagged": scoring.flagged,
                "unscored": sorted(scoring.unscored),
            },
            request_data=request_data,
            guardrail_status=status,
            start_time=began,
            end_time=ended,
            duration=ended - began,
            guardrail_provider="flinch",
            event_type=GuardrailEventHooks.post_call,
        )


class Scoring:
    """One answer, which the gateway scores as it comes (`generation.score` of gateway/PROTOCOL.md)."""

    def __init__(self, guardrail: FlinchGuardrail, request_data: dict) -> None:
        self.guardrail = guardrail
        self.request = {
            "type": "generation.score",
            "model": guardrail.model,
            "messages": request_data.get("messages") or [],
            **({"tools": request_data["tools"]} if request_data.get("tools") else {}),
        }
        self.waiting = ""
        self.ended = False
        self.changed = asyncio.Event()
        self.ready = asyncio.Event()
        self.task: asyncio.Task[None] | None = None
        self.flagged: list[dict[str, Any]] = []
        self.verdict: dict[str, Any] | None = None
        self.unscored: set[str] = set()
        self.error: str | None = None

    @property
    def is_flagged(self) -> bool:
        return bool(self.flagged) or bool(self.verdict and self.verdict["flagged"])

    def status(self, block: bool) -> tuple[str, str | None]:
        """As LiteLLM logs it. What is not scored whole has not passed."""
        if self.is_flagged:
            return ("guardrail_intervened" if block else "guardrail_flagged"), "the model was unsure"
        if self.error:
            return "guardrail_failed_to_respond", self.error
        if not self.task:
            return "not_run", "the response has no text that is scored"
        if self.unscored:
            return "guardrail_failed_to_respond", f"unscored: {', '.join(sorted(self.unscored))}"
        if not self.verdict:
            return "guardrail_failed_to_respond", "the stream did not end"
        if self.verdict["flagged"] is None:
            return "guardrail_failed_to_respond", f"not judged: {self.verdict['reason']}"
        return "success", None

    async def read(self, chunk: Any) -> None:
        for choice in getattr(chunk, "choices", None) or []:
            delta = getattr(choice, "delta", None)
            if getattr(choice, "index", 0) != 0:
                self.unscored.add("choices")
                continue
            for other in ("tool_calls", "function_call", "reasoning_content"):
                if getattr(delta, other, None):
                    self.unscored.add(other)
            text = getattr(delta, "content", None)
            if not isinstance(text, str) or text == "":
                continue
            # What follows something that the scorer does not see would be scored as if it were not there.
            if self.unscored - {"choices"}:
                self.unscored.add("text")
                continue
            self.waiting += text
            self.changed.set()
            if not self.task:
                self.task = asyncio.create_task(self.run())
                if self.guardrail.fails_closed:
                    await self.ready.wait()

    async def finish(self) -> None:
        self.ended = True
        self.changed.set()
        if self.task:
            await asyncio.wait([self.task])

    def close(self) -> None:
        if self.task:
            self.task.cancel()

    async def run(self) -> None:
        try:
            headers = self.guardrail.headers
            async with connect(
                self.guardrail.url,
                subprotocols=["flinch.v1"],
                additional_headers=headers,
                open_timeout=CONNECT,
                max_size=None,
            ) as socket:
                await socket.send(json.dumps(self.request))
                await self.hear(socket)
        except Exception as error:
            self.error = self.error or f"{type(error).__name__}: {error}"
        finally:
            self.ready.set()

    async def hear(self, socket: ClientConnection) -> None:
        sending: asyncio.Task[None] | None = None
        try:
            while True:
                event = json.loads(await asyncio.wait_for(socket.recv(), SILENCE))
                kind = event["type"]
                if kind == "generation.created":
                    sending = asyncio.create_task(self.send(socket, event["response_id"]))
                    self.ready.set()
                elif kind == "step.flagged":
                    step = {name: event[name] for name in ("text", "risk", "score")}
                    self.flagged.append(step)
                    verbose_proxy_logger.warning("flinch: flagged step, rank %s: %r", step["risk"], step["text"])
                elif kind == "generation.done":
                    self.verdict = event.get("verdict")
                    return
                elif kind == "error":
                    self.error = event["error"]["message"]
                    return
        finally:
            if sending:
                sending.cancel()

    async def send(self, socket: ClientConnection, response_id: str) -> None:
        while True:
            await self.changed.wait()
            self.changed.clear()
            text, self.waiting, end = self.waiting, "", self.ended
            await socket.send(
                json.dumps({"type": "generation.append", "response_id": response_id, "text": text, "end": end})
            )
            if end:
                return
            await asyncio.sleep(PAUSE)
