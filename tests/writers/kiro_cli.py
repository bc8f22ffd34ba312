"""A plain conversation as a session of Kiro CLI."""

from typing import Any

Talk = list[dict[str, Any]]


def records(talk: Talk) -> Talk:
    """A record for each message; the results of an answer share a record."""
    found: Talk = []
    for message in talk:
        if message["role"] == "tool":
            if found and found[-1]["kind"] == "ToolResults":
                found[-1]["data"]["content"].append(_result(message))
                continue
            blocks, kind = [_result(message)], "ToolResults"
        elif message["role"] == "assistant":
            blocks, kind = _answer(message, len(found)), "AssistantMessage"
        else:
            blocks, kind = [_block("text", text) for text in message["texts"]], "Prompt"
        found.append(_record(kind, len(found), blocks))
    return found


def compacted(talk: Talk) -> Talk:
    """A session with a summary, after messages that were cleared."""
    summary = {"version": "v1", "kind": "Compaction", "data": {"summary": "We talked of tides."}}
    cleared = [_record("Prompt", 900, [_block("text", "old")]), {"kind": "Clear", "data": None}]
    return [*cleared, summary, *records(talk)]


def _record(kind: str, number: int, blocks: Talk) -> dict[str, Any]:
    data = {"message_id": f"k{number}", "content": blocks, "meta": {"timestamp": 1}}
    return {"version": "v1", "kind": kind, "data": data}


def _block(kind: str, data: Any) -> dict[str, Any]:
    return {"kind": kind, "data": data}


def _answer(message: dict[str, Any], position: int) -> Talk:
    thought = {"text": "to do", "signature": "s"} if position % 2 else "to do"
    blocks = [_block("thinking", thought)] if position % 3 == 0 else []
    blocks += [_block("text", text) for text in message["texts"]]
    for call in message["calls"]:
        use = {"toolUseId": call["id"], "name": call["name"], "input": call["input"]}
        blocks.append(_block("toolUse", use))
    return blocks


def _result(message: dict[str, Any]) -> dict[str, Any]:
    first, *others = message["texts"]
    output = {"exit_status": "0", "stdout": first, "stderr": ""}
    content = [_block("json", output), *(_block("text", text) for text in others)]
    status = "error" if message["error"] else "success"
    data = {"toolUseId": message["id"], "content": content, "status": status}
    return _block("toolResult", data)
