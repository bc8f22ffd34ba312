"""Shorten tool results: what is too old goes, what is too long is clipped.

Structure stays: count, order, role, ids and every other field. What becomes of a result::

    pinned, or replaced before             stays
    the same as a newer one (dedupe)       points to it
    older than max_age, nothing keeps it   is replaced: placeholder, stub, its first lines, or a line that sums it up
    too long, and no file in use           is spilled, or clipped; what was worth keeping stays in the clip
    all others                             stay

Nothing is done that would not make it smaller.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ctxtrim import clipping
from ctxtrim.clipping.layout import Mode
from ctxtrim.clipping.limits import spilled_to
from ctxtrim.conversation import pins
from ctxtrim.conversation.tool_results import METADATA, Result, results
from ctxtrim.conversation.turns import Shape
from ctxtrim.evidence import copies
from ctxtrim.model import Message, Transcript
from ctxtrim.stage import Action, Finding, Outcome, change_of, seam, setting
from ctxtrim.stages.keep import Kept, Retaining, kept
from ctxtrim.stages.placeholder import MODES, PLACEHOLDER, POINTER, Replacement, check_template
from ctxtrim.stages.truncate import per_tool
from ctxtrim.stages.truncate.size_limit import PathOf, Sizing
from ctxtrim.tokens import MARKS, Budget
from ctxtrim.tokens.counter import Counter

_ACTIVE_STEPS = 5  # where ages are turns


@dataclass(frozen=True)
class Truncate:
    """Shorten tool results that are too old or too long."""

    counter: Counter
    budget: Budget
    path_of: PathOf | None = seam()
    clock: str = setting(
        "steps", "What ages are counted in; none: nothing is too old.", choices=("steps", "turns", "none")
    )
    max_age: int = setting(5, "Keep the results of this many steps (or turns) in full; older ones go.", least=0)
    max_tokens: int = setting(2000, "The most tokens one result may have, marker included; 0 for any.", least=0)
    max_lines: int = setting(0, "The most lines of one result that are kept; 0 for all.", least=0)
    max_bytes: int = setting(0, "The most bytes of one result that are kept; 0 for all.", least=0)
    max_chars: int = setting(0, "The most characters of one result that are kept; 0 for all.", least=0)
    mode: Mode = setting("head-tail", "What is kept of what is too long.", choices=clipping.MODES)
    spill_above: int = setting(0, "Results of more characters than this go to a file as a whole; 0 for none.", least=0)
    tool: tuple[str, ...] = setting(
        (), "Other settings for one tool: NAME:max-tokens=500,mode=tail.", check=per_tool.check
    )
    replace: str = setting("placeholder", "What stands in the place of an old result.", choices=MODES)
    placeholder: str = setting(
        PLACEHOLDER,
        "What stands there; it may tell {age}, {tokens}, {lines}, {tool}, {path}, {id} and {sha256}.",
        check=check_template,
    )
    pointer: str = setting(POINTER, "What stands after the first lines, where those are kept.", check=check_template)
    head_lines: int = setting(3, "How many first lines are kept with --replace head.", least=0)
    assign_ids: bool = setting(False, "Results that came without an id get one, so that a pointer can name it.")
    keep_errors: bool = setting(True, "Keep results that tell of an error, however old.")
    errors: str = setting(
        "strict", "What tells of one: flags, exit codes and first lines, or loose words.", choices=("strict", "loose")
    )
    keep_small: int = setting(100, "Keep results of fewer tokens than this, however old.", least=0)
    keep_quoted: bool = setting(True, "Keep results that the user quoted later, however old.")
    keep_chains: bool = setting(True, "Keep results that a recent call took its arguments from, however old.")
    keep_active_files: bool = setting(True, "Keep reads of files in use, however old and long.")
    active_steps: int | None = setting(
        None, "A file is in use that was read or changed in so many last steps. [default: the max age]", least=0
    )
    keep_tools: tuple[str, ...] = setting(
        (), "Keep results of these tools, however old: a regular expression over names.", check=pins.expression
    )
    pin: tuple[str, ...] = setting((), pins.PIN, check=pins.check)
    dedupe: bool = setting(False, "Of equal results of a tool keep the newest, and point to it from the others.")
    metadata: bool = setting(False, "Put _originalLength and _truncatedAt beside what was shortened.")
    current_step: int | None = setting(None, "The step that ages count from. [default: the last one]", least=0)
    current_turn: int | None = setting(None, "The turn that ages count from. [default: the last one]", least=0)

    def __call__(self, transcript: Transcript) -> Outcome:
        """Changes name every tool result, the kept ones with the reason why."""
        messages = transcript.messages
        where = self.counter.shape(messages)
        ages = self._ages(where)
        found = results(messages, where, ages)
        nameless = next((one for one in found if self._replacement.lacks(one)), None)
        if nameless is not None:
            return Outcome(transcript, (), (_nameless(transcript, nameless.message),))
        keeping = self._kept(messages, where, ages, found)
        held = pins.pinned(messages, where, self.pin)
        newer = copies(messages, where) if self.dedupe else {}
        by_position = {one.position: one for one in found}
        out, said = list(messages), {}
        for one in found:
            fan, newest = where.fan[one.position], by_position.get(newer.get(one.position, -1))
            if one.position in held:
                said[one.position] = _Said("kept", held[one.position])
            else:
                rule = self._rules.get(one.tool.lower(), self)
                out[one.position], said[one.position] = rule._judged(one, keeping[one.position], newest, fan)
        unsure = [one for one in found if said[one.position].is_unsure]
        while unsure:  # what kept them may not have found its way into the clip
            again = self._kept(tuple(out), where, ages, results(out, where, ages))
            lost = [one for one in unsure if again[one.position].reason is None]
            for one in lost:
                rule = self._rules.get(one.tool.lower(), self)
                new = rule._replaced(one, where.fan[one.position])
                if new is not None:
                    kept_for = keeping[one.position].reason
                    why = f"age {one.age} > {rule.max_age}, and what kept it ({kept_for}) does not fit"
                    out[one.position], said[one.position] = new, _Said("truncated", why)
            unsure = [one for one in unsure if one not in lost] if lost else []
        changes = (change_of(messages, place, words.action, words.reason) for place, words in said.items())
        return Outcome(dataclasses.replace(transcript, messages=tuple(out)), tuple(changes))

    def _judged(self, one: Result, keep: Kept, newest: Result | None, fan: int) -> "tuple[Message, _Said]":
        """A result as it shall be, and what is said of that."""
        if not one.is_rewritable:
            return one.message, _Said("kept", "not rewritable")
        if self._replacement.is_done(one.text) or spilled_to(one.text) is not None:
            return one.message, _Said("kept", "truncated before")
        is_old = self._is_old(one.age)
        if newest is not None:
            short = self._smaller(one, self._replacement.pointing(newest), fan)
            if short is not None:
                return short, _Said("truncated", f"same as message {newest.message.index}")
        if is_old and keep.reason is None:
            short = self._replaced(one, fan)
            if short is not None:
                return short, _Said("truncated", f"age {one.age} > {self.max_age}")
        if keep.in_full:
            return one.message, _Said("kept", keep.reason or "")
        clip = self._sizing.shortened(one.text, keep.ranges, self.counter, self.path_of)
        if clip is not None:
            short = self._smaller(one, clip.text, fan)
            if short is not None:
                return short, _Said("archived" if clip.is_spilled else "truncated", clip.reason, is_old)
        elif not is_old:
            why = "within the limits" if self.clock == "none" else f"age {one.age} <= {self.max_age}"
            return one.message, _Said("kept", why)
        elif keep.reason is not None:
            return one.message, _Said("kept", keep.reason)
        return one.message, _Said("kept", "shortening it would not make it smaller")

    def _replaced(self, one: Result, fan: int) -> Message | None:
        """A result with what stands in its place; None where that would not be smaller."""
        tokens = f"{MARKS[self.counter.tokenizer.exactness]}{self.counter.text(one.text)}"
        return self._smaller(one, self._replacement.of(one, tokens), fan)

    def _smaller(self, one: Result, text: str, fan: int) -> Message | None:
        """A result with another text; None where that would not be smaller."""
        short = one.with_text(text)
        if self.counter.cost(short, fan).total >= self.counter.cost(one.message, fan).total:
            return None
        if self.metadata:
            length = dict(one.message.metadata).get(METADATA[0], len(one.text))
            short = dataclasses.replace(short, metadata=tuple(zip(METADATA, (length, one.age), strict=True)))
        return short

    def _ages(self, where: Shape) -> tuple[int, ...]:
        """The age of every message, in the clock asked for."""
        if self.clock == "turns":
            now = max(where.turn, default=0) if self.current_turn is None else self.current_turn
            return tuple(now - turn for turn in where.turn)
        now = self._step(where)
        return tuple(now - step for step in where.step)

    def _is_old(self, age: int) -> bool:
        return self.clock != "none" and age > self.max_age

    def _step(self, where: Shape) -> int:
        return where.steps if self.current_step is None else self.current_step

    def _kept(
        self, messages: Sequence[Message], where: Shape, ages: Sequence[int], found: Sequence[Result]
    ) -> dict[int, Kept]:
        """What keeps each result."""
        steps = self.active_steps
        if steps is None:
            steps = self.max_age if self.clock == "steps" else _ACTIVE_STEPS
        asked = Retaining(
            self.keep_errors,
            self.errors == "loose",
            self.keep_small,
            self.keep_quoted,
            self.keep_chains,
            steps if self.keep_active_files else None,
            self.keep_tools,
        )
        recent = [not self._is_old(age) for age in ages]
        return kept(asked, self.counter, messages, where, found, recent, self._step(where))

    @cached_property
    def _rules(self) -> Mapping[str, "Truncate"]:
        """What this stage is for single tools."""
        return {name: dataclasses.replace(self, **rule) for name, rule in per_tool.rules(self.tool).items()}  # type: ignore[arg-type]

    @cached_property
    def _replacement(self) -> Replacement:
        return Replacement(self.replace, self.placeholder, self.pointer, self.head_lines, self.assign_ids)

    @cached_property
    def _sizing(self) -> Sizing:
        return Sizing(self.max_tokens, self.max_lines, self.max_bytes, self.max_chars, self.mode, self.spill_above)


@dataclass(frozen=True)
class _Said:
    """What became of a result, and why; `is_unsure`: it was old and kept, but not as a whole."""

    action: Action
    reason: str
    is_unsure: bool = False


def _nameless(transcript: Transcript, message: Message) -> Finding:
    text = (
        "a tool result without a trace id cannot be pointed to once it is truncated; give it one, or --assign-ids. "
        "The transcript is left as it was"
    )
    return Finding("no-trace-id", "error", text, transcript.line_of(message), message.index)
