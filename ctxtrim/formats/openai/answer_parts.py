"""Parts of messages next to their content: reasoning, refusals and audio of answers, images, and
what some clients write.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ctxtrim.formats.fields import elements, located, members
from ctxtrim.formats.media_blocks import inline_media, media_of
from ctxtrim.formats.message_lists import ListContents
from ctxtrim.formats.openai import AG_UI_CALLS, LLAMA_INDEX, RESPONSES
from ctxtrim.formats.openai.chat import REASONING, REASONING_BLOCKS
from ctxtrim.model import Part, Span

_TEXTS = ("text", "thinking", "summary")
_SEALED = ("data", "signature", "encrypted_content")


def with_client_members(
    value: dict[str, Any],
    parts: Sequence[Part],
    span: Span,
    whole: Span,
    contents: ListContents,
    block: Callable[[Any, Span], Part],
) -> tuple[tuple[Part, ...], Span]:
    """The parts as in `with_members`, with calls of AG-UI and LlamaIndex, and the span to remove
    with the message; `contents` gets the results in it (AutoGen, Gemma).
    """
    all_parts = list(with_members(value, parts, span, contents))
    if not value.get("tool_calls"):
        all_parts += _client_calls(value, span, contents)
    if RESPONSES in value:
        from ctxtrim.formats.openai import chat_results  # for AutoGen and Gemma only

        whole = chat_results.add_responses(contents, value, span, whole, block)
        if not all(map(chat_results.is_result, elements(value[RESPONSES]))):
            contents.add_unread(f"`{RESPONSES}` in an unknown form")
    return tuple(all_parts), whole


def _client_calls(value: dict[str, Any], span: Span, contents: ListContents) -> Iterator[Part]:
    """The calls in members of AG-UI and LlamaIndex."""
    for path in ((AG_UI_CALLS,), (LLAMA_INDEX, "tool_calls")):
        calls: Any = value
        place = span.inside(*path)
        for key in path:
            calls = members(calls).get(key)
        if calls:
            from ctxtrim.formats.openai.chat_calls import calls_of  # for these clients only

            for call, call_span in located(calls, place) or [(calls, place)]:
                yield from calls_of(call, call_span, contents)


def with_members(
    value: dict[str, Any], parts: Sequence[Part], span: Span, contents: ListContents
) -> tuple[Part, ...]:
    """The parts of an answer's content, with those in its members before and after them; `contents`
    records reasoning in an unknown form as not read.
    """
    refusal = value.get("refusal")
    place = span.inside("refusal")
    refusals = (Part("text", refusal, source=place),) if isinstance(refusal, str) else ()
    reasoning = _reasoning(value, span, contents)
    return (*reasoning, *parts, *refusals, *_audio(value, span))


def _reasoning(value: dict[str, Any], span: Span, contents: ListContents) -> list[Part]:
    """The reasoning of an answer, encrypted first.

    A text that two members repeat counts once, and goes with its copy. The texts in its blocks
    count only if it has no other text, which would be the same. Summaries count only without
    encrypted reasoning: requests to gpt-5 with both had the same recorded tokens as those without
    the summary.
    """
    texts: list[Part] = []
    lists = {key: elements(value.get(key)) for key in REASONING_BLOCKS}
    for key in REASONING:
        text, text_span = value.get(key), span.inside(key)
        if any(part.text == text for part in texts):
            texts.append(Part("reasoning", block=text_span))
        elif isinstance(text, str):
            texts.append(Part("reasoning", text, span=text_span, block=text_span))
        elif text:
            lists[key] = text if isinstance(text, list) else [text]
    keys: tuple[str, ...] = ()
    if not any(part.text for part in texts):
        keys = _TEXTS[:2] if any(map(_sealed, lists.values())) else _TEXTS
        for key in REASONING:
            if any(map(_is_unknown, lists.get(key, ()))):
                contents.add_unread(f"`{key}` in an unknown form")
    block_parts = [
        Part(
            "reasoning",
            "".join(_strings(blocks, *keys)),
            sealed=_sealed(blocks),
            block=span.inside(key),
        )
        for key, blocks in lists.items()
        if blocks  # also without tokens of their own: they go with the text
    ]
    return [*block_parts, *texts]


def _is_unknown(block: Any) -> bool:
    """Whether a block has no known text."""
    return next(_strings([block], *_TEXTS, *_SEALED), None) is None


def _sealed(blocks: Iterable[Any]) -> int:
    """The characters of encrypted reasoning and signatures."""
    return sum(map(len, _strings(blocks, *_SEALED)))


def _audio(value: dict[str, Any], span: Span) -> tuple[Part, ...]:
    """The spoken answer, often only its id; then its length is unknown."""
    audio = value.get("audio")
    if not isinstance(audio, dict):
        return ()
    media = inline_media(audio.get("data"), None, "audio")
    return (Part("attachment", media=media, source=span.inside("audio")),)


def images(value: dict[str, Any], span: Span) -> tuple[Part, ...]:
    """The images next to a content, each as base64 (Ollama) or as a block (OpenRouter)."""
    parts = []
    for index, image in enumerate(elements(value.get("images"))):
        block = {"type": "image", "data": image} if isinstance(image, str) else members(image)
        media = media_of(block)
        if media is not None:
            parts.append(Part("attachment", media=media, source=span.inside("images", index)))
    return tuple(parts)


def _strings(blocks: Iterable[Any], *keys: str) -> Iterator[str]:
    """The strings under some keys of blocks."""
    for block in blocks:
        for key in keys:
            if isinstance(text := members(block).get(key), str):
                yield text
