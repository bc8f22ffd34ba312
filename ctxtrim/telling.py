"""What is said of a summary that was put in: changes and findings."""

from dataclasses import replace

from ctxtrim.stage import Change, Finding, Outcome, Written, change_of
from ctxtrim.summaries import titles
from ctxtrim.summing import Summed


def told(outcome: Outcome, found: Summed) -> Outcome:
    """The outcome of a stage with its summary, and what is said of that and of the messages that it stands for.

    They are `summarized` where there is one; an earlier summary is `merged`, and so is the prompt it was joined to.
    """
    is_omitted, is_stored = found.summary.text == titles.OMITTED, found.summary.by == "store"
    what = (
        "a line for the summary that there was no room for"
        if is_omitted
        else f"summary of {found.told} message{'' if found.told == 1 else 's'}, by {found.summary.by}"
    )
    put = change_of(found.messages, found.place, "merged" if found.is_joined else "inserted", what)
    kept = {message.index for message in found.messages}
    changes = []
    for change in outcome.changes:
        if change.message is not None and change.message == put.message:
            continue
        if change.action == "dropped" and not (is_omitted or is_stored):
            change = replace(change, action="summarized")
        elif change.action == "kept" and change.message not in kept:
            change = Change(change.message, "merged", "merged into the summary")
        changes.append(change)
    findings = outcome.findings
    if found.summary.trouble is not None:
        findings = (*findings, Finding("summary", "warning", f"{found.summary.trouble}; the facts stand in its place"))
    written = None if is_omitted or is_stored else Written(found.summary.text, found.size, found.told)
    transcript = replace(outcome.transcript, messages=found.messages)
    return replace(outcome, transcript=transcript, changes=(*changes, put), findings=findings, summary=written)
