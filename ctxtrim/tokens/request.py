"""The tokens of a request besides its messages: tool schemas, tool choice, structured output,
reasoning.
"""

import json
from collections.abc import Callable
from typing import Any

from msgspec import Struct

from ctxtrim.model import Transcript
from ctxtrim.model.request import OutputFormat, RequestOptions
from ctxtrim.tokens.text_counts import CountText
from ctxtrim.tokens.tokenizer import Exactness
from ctxtrim.tokens.tool_schemas import EMPTY_LINE

Addends = dict[str, int]
"""Tokens by purpose."""

_AUTO = (None, "auto")
_ANY = ("any", "required")
_UNKNOWN_MODES = ("pro", "between_tools")  # of reasoning: without a known rule, or never recorded


class RequestFraming(Struct, frozen=True):
    """The tokens of a request besides its messages.

    Tools: `declares` writes schemas as declarations; `declared` is added once, and `empty_line` for
    each of their empty lines. Without declarations the schemas count as JSON; `tools` is added once
    (`tools_forced` if a tool must be called), `tool` per tool, and `own_tools` for the provider's
    own tools, by the beginning of their type. `forbidden`, `required` and `forced` are the tool
    choices none, any and one by name; the name counts too.

    Structured output: `writes_output` writes the format, `output` is added, and `output_answer` for
    each answer in the history. `output_is_tool`: an OpenAI-compatible API turns the format into a
    tool that must be called.

    Reasoning: `thinking`, `adaptive` and `pro` are the reasoning modes of a request; `pro_answer`
    is added per answer in the history in mode `pro`; `kept` once if there is an answer, for
    reasoning that the API stores and counts although the request does not contain it.
    `task_budget`, `prediction`: once if the request has one. `citations`: once if a message is a
    source to cite.

    `estimates` names the addends of `costs` with too little evidence: a request with one of them is
    an estimate.
    """

    declares: Callable[[str], str | None] | None = None
    declared: int = 0
    empty_line: int = 0
    tools: int = 0
    tools_forced: int | None = None
    tool: int = 0
    own_tools: tuple[tuple[str, int], ...] = ()
    forbidden: int = 0
    required: int = 0
    forced: int | None = None
    writes_output: Callable[[OutputFormat], str] | None = None
    output: int = 0
    output_answer: int = 0
    output_is_tool: bool = False
    thinking: int = 0
    adaptive: int = 0
    pro: int = 0
    pro_answer: int = 0
    kept: int = 0
    task_budget: int = 0
    prediction: int = 0
    citations: int = 0
    estimates: tuple[str, ...] = ()

    def costs(
        self, transcript: Transcript, count: CountText, schemas: Callable[[str], Addends]
    ) -> Addends:
        """The tokens of a request besides its messages.

        `schemas` counts the text of tool schemas.
        """
        costs: Addends = {}
        options = transcript.options
        if transcript.tools is not None:
            costs |= schemas(transcript.tools) | self._choice(transcript.tool_choice, count)
            if "tool_prompt" in costs and transcript.tool_choice not in (*_AUTO, "none"):
                costs["tool_prompt"] = self._forced_prompt()
        answers = 0
        if options.output is not None or options.reasoning is not None or self.kept:
            answers = sum(
                message.role == "assistant" and message.agent_visible
                for message in transcript.messages
            )
        if options.output is not None and self.writes_output is not None:
            text = count(self.writes_output(options.output))
            costs["output_format"] = text + self._output(options) + self.output_answer * answers
        if options.reasoning is not None or self.kept:
            costs |= self._reasoning(options, answers)
        if options.task_budget:
            costs["task_budget"] = self.task_budget
        if options.prediction:
            costs["prediction"] = self.prediction
        if self.citations and _has_sources(transcript):
            costs["citations"] = self.citations
        return costs

    def schemas(self, tools: str, count: CountText) -> Addends:
        """The tokens of tool schemas (JSON text): as declarations if possible, else as Python's
        JSON.
        """
        declarations = self.declares(tools) if self.declares is not None else None
        if declarations is not None:
            return {
                "schemas": count(declarations),
                "declarations": self.declared,
                "empty_lines": self.empty_line * declarations.split("\n").count(EMPTY_LINE),
            }
        schemas = json.loads(tools)
        number = len(schemas) if isinstance(schemas, list) else 1
        costs = {
            "schemas": count(json.dumps(_read_by_model(schemas))),
            "tool_prompt": self.tools,
            "each_tool": self.tool * number,
        }
        own = _own_kinds(schemas)
        return costs | {"own_tools": sum(map(self._own, own))} if own else costs

    def exactness(self, options: RequestOptions, costs: Addends) -> Exactness:
        """The exactness of the tokens besides messages."""
        is_partial = bool(options.hidden or options.unread) or options.base is not None
        is_unknown = is_partial or options.reasoning in _UNKNOWN_MODES
        if is_unknown or any(name in costs for name in self.estimates):
            return "estimated"
        is_plain = options.output is None and not options.prediction and not options.any_json
        return "exact" if is_plain else "bounded"

    def _forced_prompt(self) -> int:
        return self.tools if self.tools_forced is None else self.tools_forced

    def _choice(self, choice: str | None, count: CountText) -> Addends:
        if choice in _AUTO:
            return {}
        if choice == "none":
            return {"tool_choice": self.forbidden}
        if choice in _ANY:
            return {"tool_choice": self.required}
        return {"tool_choice": self.forced + count(str(choice))} if self.forced is not None else {}

    def _output(self, options: RequestOptions) -> int:
        is_tool = self.output_is_tool and options.api in ("chat", "responses")
        return self.output + (self._forced_prompt() if is_tool else 0)

    def _reasoning(self, options: RequestOptions, answers: int) -> Addends:
        pro = self.pro + self.pro_answer * answers
        modes = {"enabled": self.thinking, "adaptive": self.adaptive, "pro": pro}
        costs = {
            "reasoning_mode": modes.get(options.reasoning or "", 0),
            "kept_reasoning": self.kept if answers else 0,
        }
        return {name: tokens for name, tokens in costs.items() if tokens}

    def _own(self, kind: str) -> int:
        """The extra tokens of a provider's own tool."""
        return next((cost for begins, cost in self.own_tools if kind.startswith(begins)), 0)


def _has_sources(transcript: Transcript) -> bool:
    """Whether the model reads a source that its answer must cite."""
    read = (message for message in transcript.messages if message.agent_visible)
    return any(part.cites for message in read for part in message.parts)


def _own_kinds(schemas: Any) -> list[str]:
    """The types of the provider's own tools among some schemas."""
    tools = schemas if isinstance(schemas, list) else []
    kinds = [
        tool["type"]
        for tool in tools
        if isinstance(tool, dict) and isinstance(tool.get("type"), str)
    ]
    return [kind for kind in kinds if kind not in ("function", "custom")]


_UNREAD = ("strict", "cache_control", "defer_loading", "eager_input_streaming", "allowed_callers")


def _read_by_model(schemas: Any) -> Any:
    """Tool schemas without the keys that only the provider reads."""
    if not isinstance(schemas, list):
        return schemas
    return [
        {key: value for key, value in tool.items() if key not in _UNREAD}
        if isinstance(tool, dict)
        else tool
        for tool in schemas
    ]


def openai_output(output: OutputFormat) -> str:
    """Structured output as OpenAI writes it: a heading, the description as a comment, a short JSON
    schema.

    `additionalProperties`, `required` and `$schema` are left out.
    """
    about = f"// {output.description}\n" if output.description else ""
    return f"# Response Formats\n\n## {output.name}\n\n{about}{_short(output.schema)}"


def harmony_output(output: OutputFormat) -> str:
    """Structured output as gpt-oss reads it: OpenAI's heading and the whole schema as JSON."""
    return f"# Response Formats\n\n## {output.name}\n\n// {output.description}\n{output.schema}"


def indented_output(output: OutputFormat) -> str:
    """Structured output as Anthropic writes it: the schema as indented JSON."""
    return json.dumps(json.loads(output.schema), indent=2)


_UNSEEN = ("additionalProperties", "required", "$schema")
_NAMED = ("properties", "$defs", "definitions")  # objects whose keys are names, not keywords


def _short(schema: str) -> str:
    try:
        return json.dumps(_without(json.loads(schema)), ensure_ascii=False, separators=(",", ":"))
    except RecursionError:  # nested too deeply
        return schema


def _without(schema: Any, is_named: bool = False) -> Any:
    """A schema without the keywords that the model does not read. Names of properties stay."""
    if isinstance(schema, list):
        return [_without(inner) for inner in schema]
    if not isinstance(schema, dict):
        return schema
    keys = schema if is_named else [key for key in schema if key not in _UNSEEN]
    return {key: _without(schema[key], not is_named and key in _NAMED) for key in keys}
