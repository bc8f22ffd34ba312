"""Measures which edits and reads of files a trim keeps, and which reads outlive a later edit.

    python benchmarks/edits.py FOLDER

Each session of `kept.py` is trimmed to a half, a quarter and a tenth of its tokens. A kept call
counts whatever is left of its result. A read is outdated if it is kept and a later edit of its file
is dropped. A session whose protected messages alone exceed the budget does not count.
"""

import argparse
from collections import Counter as Tally
from pathlib import Path

from kept import ENCODING, sessions

from ctxtrim import STAGES, Transcript
from ctxtrim.evidence.tool_kinds import accesses
from ctxtrim.tokenizers import tokenizer
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.models import FRAMINGS
from ctxtrim.tokens.tokenizer import Budget

SHARES = (0.5, 0.25, 0.1)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--most", type=int, default=6, help="sessions of one file")
    options = parser.parse_args()
    selected = list(sessions(options.folder, options.most))
    print(f"{len(selected)} sessions; {ENCODING}\n")
    print("| budget | sessions | edits kept | reads kept | outdated reads |")
    print("| --- | --- | --- | --- | --- |")
    for share in SHARES:
        found = sum((measured(session.transcript, share) for session in selected), Tally[str]())
        edits = f"{found['kept edit']} of {found['edit']}"
        reads = f"{found['kept read']} of {found['read']}"
        print(f"| {share:.0%} | {found['session']} | {edits} | {reads} | {found['outdated']} |")


def measured(transcript: Transcript, share: float) -> Tally[str]:
    """The calls to files before and after a trim to a share of the tokens."""
    counter = Counter(tokenizer(ENCODING), FRAMINGS["openai"])
    budget = Budget(10**9, 0, limit=int(counter.tokens(transcript) * share))
    outcome = STAGES["trim"](counter, budget)(transcript)
    if any(finding.code == "overflow" for finding in outcome.findings):
        return Tally()
    kept = {message.index for message in outcome.transcript.messages}
    found = Tally(session=1)
    shown: Tally[str] = Tally()  # kept reads by path
    for message in transcript.messages:
        for call in message.calls:
            for path, kind in accesses(call):
                name = "edit" if kind == "write" else kind
                found[name] += 1
                found[f"kept {name}"] += message.index in kept
                if name == "read":
                    shown[path] += message.index in kept
                elif name == "edit" and message.index not in kept:
                    found["outdated"] += shown.pop(path, 0)
    return found


if __name__ == "__main__":
    main()
