"""Runs in a row on one conversation: the later run reads the output of the earlier one."""

from collections.abc import Mapping, Sequence

from ctxtrim.archive.index import Archive, Trace
from ctxtrim.archive.pack import Pack


def oldest(archive: Archive, traces: Sequence[Trace]) -> list[Trace]:
    """The traces without those that an earlier run wrote.

    A run that drops or shortens a result again stores the text that it finds, which an earlier run
    may have shortened. That run stored the original under the same id.
    """
    packs, _ = archive.each(Pack.starts)
    before = {pack.path: {pack.input, *starts} for pack, starts in packs}
    inputs_of: dict[str, set[str]] = {}
    for pack, _ in packs:
        inputs_of.setdefault(pack.output, set()).update(before[pack.path])
    outputs = {trace.pack.output for trace in traces if trace.pack is not None}
    originals = []
    for trace in traces:
        if trace.pack is not None:
            earlier = _earlier(before.get(trace.pack.path, set()), inputs_of)
            if earlier & (outputs - {trace.pack.output}):
                continue
        originals.append(trace)
    return originals or list(traces)


def _earlier(outputs: set[str], inputs_of: Mapping[str, set[str]]) -> set[str]:
    """Some outputs, and those of the runs before them."""
    ancestors: set[str] = set()
    waiting = set(outputs)
    while waiting:
        output = waiting.pop()
        ancestors.add(output)
        waiting |= inputs_of.get(output, set()) - ancestors
    return ancestors
