"""Framing: what a request costs beside its texts. Whose numbers are whose stands in `models`."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ctxtrim.media import POLICIES, Policy
from ctxtrim.model import Message
from ctxtrim.schemas import rendered

Addends = dict[str, int]
"""What something costs: tokens by what they are for."""


@dataclass(frozen=True)
class Framing:
    """What a request costs beside its texts, in tokens.

    `priming` once. `message` for each, with its role, or `system` for a system message where that is another number;
    `assistant` on top for each assistant message, `result` for each tool message; `participant` on top of a
    participant's name; `reasoning` for each part of reasoning.

    `call` for each call, whose name counts `call_names` times, spelled with `call_prefix` before it. Where each is a
    message of its own, `preamble` is what a text beside them costs on top, and without one there is no frame. Its
    arguments count as the JSON that they are, and `multiline` for each with a line break; where it `spells_arguments`,
    the name and the value of each count by themselves, and `argument` on top. `parallel` for two calls or more in one
    message, whose results some providers send escaped to ASCII. `quotes_results`: some servers send any result as a
    string of JSON.

    `tools` once where tool schemas are sent, on top of their JSON text, or `tools_forced` where one must be called and
    that is another number; `declared` instead where `declares` spells them as declarations. `own_tools`: types of
    tools, by their beginning, that bring a prompt of their own. `forbidden` and `forced` (beside its name) are what a
    choice of no tool or of one costs.

    `media` says what attachments cost. `is_verified`: plain messages cost exactly this, by the API's own counts.
    """

    priming: int
    message: int
    system: int | None = None
    assistant: int = 0
    result: int = 0
    participant: int = 1
    reasoning: int = 0
    call: int = 10
    call_names: int = 2
    call_prefix: str = ""
    preamble: int | None = None
    spells_arguments: bool = False
    argument: int = 0
    multiline: int = 6
    parallel: int = 24
    escapes_parallel: bool = True
    quotes_results: bool = False
    tools: int = 12
    tools_forced: int | None = None
    declares: Callable[[str], str | None] | None = rendered
    declared: int = 6
    own_tools: tuple[tuple[str, int], ...] = ()
    forbidden: int = 1
    forced: int = 7
    media: Policy = POLICIES["unknown"]
    is_verified: bool = False

    def around(self, message: Message, is_parallel: bool, count: Callable[[str], int]) -> Addends:
        """What stands around the parts of a message. `is_parallel`: its exchange makes several calls at once.

        `count` counts a name.
        """
        addends = {"frame": self.message if message.role != "system" or self.system is None else self.system}
        if message.name is not None:
            addends["participant"] = self.participant + count(message.name)
        if message.role == "tool":
            addends["result"] = self.result
        elif message.role == "assistant":
            addends["assistant"] = self.assistant
            if self.preamble is not None and any(part.kind == "tool_call" for part in message.parts):
                if any(part.kind == "text" and part.text for part in message.parts):
                    addends["preamble"] = self.preamble
                else:
                    addends["frame"] = addends["assistant"] = 0
            if is_parallel:
                addends["parallel"] = self.parallel
            for part in message.parts:
                if part.kind == "tool_call":
                    addends["call_frame"] = addends.get("call_frame", 0) + self.call
                    if self.multiline and "\\" in part.text:
                        lines = self.multiline * _multiline_arguments(part.text)
                        addends["line_breaks"] = addends.get("line_breaks", 0) + lines
                elif part.kind == "reasoning" and self.reasoning:
                    addends["reasoning_frame"] = addends.get("reasoning_frame", 0) + self.reasoning
        return addends

    def own(self, schemas: object) -> int:
        """What the provider's own tools among some schemas cost on top."""
        tools = schemas if isinstance(schemas, list) else []
        kinds = [tool["type"] for tool in tools if isinstance(tool, dict) and isinstance(tool.get("type"), str)]
        return sum(tokens for kind in kinds for begins, tokens in self.own_tools if kind.startswith(begins))


def spelled_arguments(arguments: str) -> list[tuple[str, str]] | None:
    """The names and values of a call's arguments, values that are no strings as JSON; None where it is no object."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    return [(name, one if isinstance(one, str) else json.dumps(one, ensure_ascii=False)) for name, one in value.items()]


def _multiline_arguments(arguments: str) -> int:
    """How many string values of a call's arguments hold a line break; escapes are counted where it is no JSON."""
    try:
        value = json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments.count("\\n")
    return sum("\n" in leaf for leaf in _strings(value))


def _strings(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (dict, list)):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _strings(inner)
