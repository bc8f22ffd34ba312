"""Readers, one per API, of the request fields that cost tokens besides messages and tools, and of
attachments next to the messages (`media_marks`).
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from ctxtrim.formats.fields import elements, members, string
from ctxtrim.model.request import OutputFormat, RequestOptions
from ctxtrim.text.records import dump

Fields = Mapping[str, Any]

MARKS = {
    "<image>": ("images", "image"),
    "<video>": ("videos", "video"),
    "<audio>": ("audios", "audio"),
}
"""The marks in texts, and the keys next to the messages with their attachments: that of a list, and
that of a single one, which may also be a list.
"""
MEDIA_KEYS = frozenset(chain.from_iterable(MARKS.values()))
_FILE = frozenset(("bytes", "path"))  # of Hugging Face's `datasets`
_MEDIA_FILES = (
    ".png", ".jpg", ".jpeg", ".jfif", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".heic", ".heif",
    ".avif", ".svg", ".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg", ".wmv",
    ".flv", ".3gp", ".wav", ".mp3", ".m4a", ".flac", ".ogg", ".oga", ".opus", ".aac", ".aif",
    ".aiff", ".wma", ".amr",
)  # fmt: skip
_LONGEST_PATH = 4_096  # characters; longer values are data
_PLAIN_CHAT = RequestOptions("chat")
_COSTLY = MEDIA_KEYS | {
    "response_format", "thinking", "documents", "chat_template_kwargs", "prediction",
}  # fmt: skip
_IN_TEMPLATES = ("custom_instructions", "xml_tools", "python_tools")
"""Arguments of the template of SmolLM3 with text of the prompt."""
_MODES = ("enabled", "adaptive", "between_tools")
_SCHEMAS = ("responseSchema", "response_schema", "responseJsonSchema", "response_json_schema")
_CACHES = ("cachedContent", "cached_content")
_TRIGGER = "compaction_trigger"  # the last item of a request that summarizes the others
_UPDATE = "configuration_update"  # an item that sets options for the rest of the conversation
_ONLINE = ":online"  # OpenRouter's suffix of models that search the web first
_PRESET = "@preset/"  # OpenRouter: a stored configuration, which may have a system prompt and tools
_INJECTING = frozenset((
    "plugins", "web_search_options", "data_sources", "dataSources", "mcp_servers", "container",
    "preset", "multi_agent", "search_parameters", "enable_search",
))  # fmt: skip
_HARMLESS = ("auto-router", "moderation", "response-healing")  # plugins that add no text


def chat_options(fields: Fields) -> RequestOptions:
    """OpenAI Chat Completions: `response_format` with a `json_schema`, and `prediction`;
    `json_object` costs nothing.

    Compatible APIs also have `thinking`, such as DeepSeek's, `documents` (Cohere, vLLM) and
    `chat_template_kwargs` (SmolTalk2, vLLM). The cost of the last two depends on the template of
    the model.
    """
    fields = _sent(fields)
    hidden = _injected(fields)
    if not hidden and _COSTLY.isdisjoint(fields):
        return _PLAIN_CHAT
    output_format = members(members(fields.get("response_format")).get("json_schema"))
    is_thinking = members(fields.get("thinking")).get("type") == "enabled"
    return RequestOptions(
        "chat",
        output=_output(output_format, "schema"),
        reasoning="enabled" if is_thinking else None,
        prediction=bool(members(fields.get("prediction"))),
        hidden=hidden,
        unread=tuple(_unread(fields)),
    )


def _sent(fields: Fields) -> Fields:
    """The fields of a request, with those that the SDKs of OpenAI and Anthropic take in
    `extra_body`.
    """
    more = members(fields.get("extra_body"))
    return {**fields, **more} if more else fields


def _unread(fields: Fields) -> Iterator[str]:
    """The fields whose contents a template writes into the prompt, in words."""
    yield from unread_media(fields)
    if elements(fields.get("documents")):
        yield "`documents` next to the messages are not read"
    arguments = members(fields.get("chat_template_kwargs"))
    for name in _IN_TEMPLATES:
        if arguments.get(name):
            yield f"`{name}` in `chat_template_kwargs` is not read"


def unread_media(fields: Fields) -> Iterator[str]:
    """The attachments next to the messages, in words."""
    for key in sorted(MEDIA_KEYS.intersection(fields)):
        if fields[key] and is_media(fields[key]):
            yield f"the attachments in `{key}` are not read"


def marks_in(value: Mapping[str, Any]) -> tuple[str, ...]:
    """The marks of attachments, if an object has some: all of them next to a list, where a mark
    without an attachment is an error. Next to single attachments, those of other kinds are text.
    """
    if MEDIA_KEYS.isdisjoint(value):  # as almost always
        return ()
    keys = {key for key in MEDIA_KEYS if is_media(value.get(key))}
    if not keys:
        return ()
    if not keys.isdisjoint(list_key for list_key, _ in MARKS.values()):
        return tuple(MARKS)
    keys.add("image")  # LLaVA writes `<image>` for a video, too
    return tuple(mark for mark, (_, single_key) in MARKS.items() if single_key in keys)


def is_media(value: Any) -> bool:
    """Whether a value next to the messages is an attachment, as a path or a file, or a list."""
    if isinstance(value, str):
        return _names_media(value)
    return isinstance(value, list) or not _FILE.isdisjoint(members(value))


def _names_media(text: str) -> bool:
    """Whether a text is a URL, base64, or the name of a media file: `image` may name a container's,
    and `audio` a voice.
    """
    if text.startswith("data:") or "://" in text or len(text) > _LONGEST_PATH:
        return True
    return text.partition("?")[0].lower().endswith(_MEDIA_FILES)


def responses_options(fields: Fields) -> RequestOptions:
    """OpenAI Responses: `text.format`, and `reasoning.mode`. No request with `json_object` is
    recorded, and none whose items change the format.
    """
    fields = _sent(fields)
    output_format = members(members(fields.get("text")).get("format"))
    mode = members(fields.get("reasoning")).get("mode")
    items = elements(fields.get("input"))
    compacts = bool(items) and members(items[-1]).get("type") == _TRIGGER
    updates = any(map(_sets_format, items))
    return RequestOptions(
        "responses",
        output=_output(output_format, "schema"),
        reasoning="pro" if mode == "pro" else None,
        any_json=output_format.get("type") == "json_object",
        hidden=_stored(fields) + _injected(fields) + ((_TRIGGER,) if compacts else ()),
        unread=(f"the format of the answer in a `{_UPDATE}` is not read",) if updates else (),
    )


def _sets_format(item: Any) -> bool:
    """Whether an item sets a schema for the answers after it."""
    fields = members(item)
    if fields.get("type") != _UPDATE:
        return False
    return members(members(fields.get("text")).get("format")).get("type") not in (None, "text")


def choice(envelope: dict[str, Any]) -> str | None:
    """The name of the tool that must be called, or a word like `auto`, `none` or `any`."""
    value = envelope.get("tool_choice", envelope.get("function_call"))
    if not isinstance(value, dict):
        return string(value)
    function = value.get("function")
    if isinstance(function, dict):
        return string(function.get("name"))
    return string(value.get("name", value.get("type")))


_AFTER_COMPACTION = "messages after the compaction (Cline keeps them in `.messages.json`)"


def anthropic_options(fields: Fields) -> RequestOptions:
    """Anthropic: `output_format` or `output_config.format`, `thinking`, `task_budget`, `thread`.

    `source_message_count` is next to the messages of a compaction of Cline.
    Requests to Claude through an OpenAI-compatible API look the same except for `response_format`.
    """
    fields = _sent(fields)
    if "response_format" in fields:
        return chat_options(fields)
    config = members(fields.get("output_config"))
    output_format = members(fields.get("output_format")) or members(config.get("format"))
    thinking = members(fields.get("thinking")).get("type")
    return RequestOptions(
        "anthropic",
        output=_output(output_format, "schema"),
        reasoning=thinking if thinking in _MODES else None,
        task_budget="task_budget" in config,
        hidden=tuple(_server_state(fields)) + _injected(fields),
        unread=(_AFTER_COMPACTION,) if "source_message_count" in fields else (),
    )


def _server_state(fields: Fields) -> Iterator[str]:
    """The fields of a request to Anthropic by which it adds earlier messages, or instructions to
    summarize.
    """
    if string(members(fields.get("thread")).get("previous_message_id")):
        yield "thread"
    if "type" in members(fields.get("compaction")):
        yield "compaction"


def gemini_options(fields: Fields) -> RequestOptions:
    """Gemini: `responseSchema` in the generation config, or next to other fields (Google's SDK),
    and `cachedContent`; in camel or snake case. Rows for tuning have answers under `completions`.
    """
    config = members(fields.get("generationConfig", fields.get("generation_config"))) or fields
    schema = next((key for key in _SCHEMAS if key in config), "")
    hidden = tuple(key for key in _CACHES if string(fields.get(key)))
    rated = elements(fields.get("completions"))
    unread = ("the answers in `completions` are not read",) if rated else ()
    return RequestOptions("gemini", _output(config, schema), hidden=hidden, unread=unread)


def _stored(fields: Fields) -> tuple[str, ...]:
    """The fields that name text on OpenAI's servers: an earlier response, a conversation, a
    prompt.
    """
    earlier, talk = fields.get("previous_response_id"), fields.get("conversation")
    references = {
        "previous_response_id": string(earlier),
        "conversation": string(talk) or members(talk).get("id"),
        "prompt": members(fields.get("prompt")).get("id"),
    }
    return tuple(name for name, value in references.items() if value)


def _injected(fields: Fields) -> tuple[str, ...]:
    """The fields by which a provider adds text: searches, documents, tools of a server, skills,
    stored prompts, instructions to start other agents.
    """
    model = string(fields.get("model")) or ""
    adds_by_name = model.endswith(_ONLINE) or _PRESET in model
    if not adds_by_name and _INJECTING.isdisjoint(fields):
        return ()
    search = members(fields.get("search_parameters"))  # xAI
    additions = {
        "model": adds_by_name,
        "plugins": any(map(_adds_text, elements(fields.get("plugins")))),
        "web_search_options": isinstance(fields.get("web_search_options"), dict),
        "data_sources": elements(fields.get("data_sources")),
        "dataSources": elements(fields.get("dataSources")),  # Azure before 2024
        "mcp_servers": elements(fields.get("mcp_servers")),
        "container": elements(members(fields.get("container")).get("skills")),
        "preset": string(fields.get("preset")),
        "multi_agent": members(fields.get("multi_agent")).get("enabled") is True,  # OpenAI
        "search_parameters": search and search.get("mode") != "off",
        "enable_search": fields.get("enable_search") is True,  # Qwen
    }
    return tuple(name for name, value in additions.items() if value)


def _adds_text(plugin: Any) -> bool:
    """Whether a plugin of OpenRouter may add text to the prompt."""
    fields = members(plugin)
    return "id" in fields and fields["id"] not in _HARMLESS and fields.get("enabled") is not False


def _output(output_format: Fields, key: str) -> OutputFormat | None:
    """The output format in an object, with its schema under a key; None without both a schema and
    a name.

    OpenAI accepts a name without a schema. No such request is recorded, so it costs as much as one
    with an empty schema.
    """
    schema = output_format.get(key)
    if not isinstance(schema, dict):
        if "name" not in output_format:
            return None
        schema = {}
    name, about = string(output_format.get("name")), string(output_format.get("description"))
    return OutputFormat(dump(schema), name or "", about or "")
