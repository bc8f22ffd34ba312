"""Spans of single SDKs: Strands Agents, AI SDK, Agent Development Kit, Pydantic AI and Logfire.

::

    ai.prompt.messages, ai.response.text, ai.response.toolCalls                   AI SDK, a request
    ai.prompt                                                                     AI SDK, all steps
    gcp.vertex.agent.llm_request, gcp.vertex.agent.llm_response    Agent Development Kit, a request
    events                                           Pydantic AI (version 1) and Logfire, a request
    all_messages_events, pydantic_ai.all_messages                       Pydantic AI, the whole run
    request_data, response_data                                                  Logfire, a request

Sources: `packages/ai/src/telemetry` of vercel/ai, `src/google/adk/telemetry/tracing.py` of
google/adk-python, `pydantic_ai_slim/pydantic_ai/models/instrumented.py` of pydantic/pydantic-ai,
`logfire/_internal/integrations/llm_providers/openai.py` of pydantic/logfire, and
`src/strands/telemetry/tracer.py` of strands-agents/sdk-python.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from msgspec.structs import replace

from ctxtrim.formats.fields import elements, members
from ctxtrim.formats.message_lists import Envelope
from ctxtrim.formats.message_parts import call_part, system_prompt
from ctxtrim.formats.traces.attributes import Attribute, Attributes
from ctxtrim.formats.traces.listed_events import listed_request
from ctxtrim.formats.traces.requests import Field, LoggedRequest, LogRecord, logged_request, opened
from ctxtrim.formats.traces.strands_events import strands_request
from ctxtrim.model import Message, Part

Kind = Literal["request", "around", "run"]

_OTHER_OPERATIONS = ("execute_tool", "create_agent", "embeddings")
"""Operations that are no request of a conversation."""
_AGENTS = ("invoke_agent", "invoke_swarm", "invoke_graph", "invoke_workflow")
_STEPS = frozenset(("event_loop.cycle_id", "tool.parameters"))
"""Attributes of steps between requests: a cycle and a tool of Strands Agents."""
_RUNS = frozenset(("ai.prompt", "pydantic_ai.all_messages", "all_messages_events"))
"""Attributes of a run of several requests."""
_ADK = "gcp.vertex.agent.llm_request"
_OBJECTS = ("ai.response.object", "ai.result.object")
_TEXTS = ("ai.response.text", "ai.result.text", *_OBJECTS)
_CALLS = ("ai.response.toolCalls", "ai.result.toolCalls")


def kind_of(attributes: Attributes) -> Kind | None:
    """What the span with some attributes is; None for a span that is no request.

    A `run` has messages of several requests and the sum of their usage. A span `around` may be that
    of a request that another span repeats, as those of Google's SDK inside spans of ADK.
    """
    names, operation = attributes.by_name.keys(), attributes.get("gen_ai.operation.name")
    if operation in _OTHER_OPERATIONS or not _STEPS.isdisjoint(names):
        return None
    is_old_agent = "agent.name" in names and attributes.get("gen_ai.system") == "strands-agents"
    if operation in _AGENTS or is_old_agent or not _RUNS.isdisjoint(names):
        return "run"
    return "around" if _ADK in names else "request"


def prompt_with_cache(attributes: Attributes, prompt: Any, answer: Any) -> Any:
    """The prompt tokens of a request with those that were cached.

    `input_tokens` of Strands Agents are without cached tokens before harness-sdk; its total has
    them. [`end_model_invoke_span`]
    """
    names = (attributes.get("gen_ai.system"), attributes.get("gen_ai.provider.name"))
    total = attributes.get("gen_ai.usage.total_tokens")
    is_counted = all(type(count) is int for count in (prompt, answer, total))
    return max(prompt, total - answer) if is_counted and "strands-agents" in names else prompt


def tools_in(attributes: Attributes) -> list[Any] | None:
    """The tools of a request, as the AI SDK and Pydantic AI write them; None without tools."""
    tools = list(map(opened, elements(attributes.get("ai.prompt.tools"))))
    settings = members(opened(attributes.get("model_request_parameters")))
    for key in ("function_tools", "output_tools"):
        tools += map(_tool, map(members, elements(settings.get(key))))
    return tools or None


def _tool(tool: dict[str, Any]) -> dict[str, Any]:
    """The sent fields of a tool of Pydantic AI."""
    return {
        "name": tool.get("name"),
        "description": tool.get("description"),
        "parameters": tool.get("parameters_json_schema"),
    }


def request(
    record: LogRecord, attributes: Attributes, events: Sequence[Field]
) -> LoggedRequest | None:
    """The request in attributes or events of a single SDK; None without one."""
    for name in ("ai.prompt.messages", "ai.prompt"):
        prompt = attributes.field_of(name)
        if prompt is not None:
            return _ai_sdk_request(record, prompt, attributes)
    for name in ("events", "all_messages_events"):
        event_list = attributes.field_of(name)
        if event_list is not None:
            listed = listed_request(record, event_list, attributes)
            if listed is not None:
                return listed
    input_field = attributes.field_of("request_data")
    if input_field is not None and attributes.get("gen_ai.request.model") is not None:
        output_field = attributes.field_of("response_data")
        return attributes.located(logged_request(record, input_field, output_field))
    return strands_request(record, events)


def _ai_sdk_request(
    record: LogRecord, prompt: Field, attributes: Attributes
) -> LoggedRequest | None:
    """The request of a step, or the prompt and the answer of all steps."""
    input_field = Field(opened(prompt.value), prompt.span)
    system = members(input_field.value).get("system")
    preamble = system_prompt(system, prompt.span.inside("system"))
    facts = record.facts | Envelope(preamble=preamble)
    request = logged_request(replace(record, facts=facts), input_field, None)
    if request is None:
        return None
    answer = _ai_sdk_answer(attributes, len(request.messages))
    if answer is None:
        return request
    usages = (replace(facts.usage, message=answer.index),) if facts.usage else ()
    return replace(request, messages=(*request.messages, answer), usages=usages)


def _ai_sdk_answer(attributes: Attributes, index: int) -> Message | None:
    """The answer, whose reasoning, text and calls are attributes. It is removed with all of them.

    A call alone is not removed.
    """
    reasoning = _text_attribute(attributes, ("ai.response.reasoning",))
    text, calls = _text_attribute(attributes, _TEXTS), _text_attribute(attributes, _CALLS)
    parts: list[Part] = []
    if reasoning is not None:
        parts.append(Part("reasoning", reasoning.value, span=reasoning.span))
    if text is not None:
        parts.append(Part("text", text.value, span=text.span))
    parts += _calls(calls)
    sources = (reasoning, text, calls)
    spans = tuple(source.whole for source in sources if source is not None)
    return Message("assistant", tuple(parts), index=index, spans=spans) if parts else None


def _text_attribute(attributes: Attributes, names: Sequence[str]) -> Attribute | None:
    """The first attribute with a text and one of some names."""
    for name in names:
        attribute = attributes.by_name.get(name)
        if attribute is not None and attribute.value and isinstance(attribute.value, str):
            return attribute
    return None


def _calls(attribute: Attribute | None) -> Iterator[Part]:
    """The calls of an answer. Their arguments are `input`, in old versions `args`."""
    if attribute is None:
        return
    for index, call in enumerate(map(members, elements(opened(attribute.value)))):
        key = "input" if "input" in call else "args"
        place = attribute.span.inside(index, key)
        yield call_part(call.get(key), call.get("toolCallId"), call.get("toolName"), place, None)
