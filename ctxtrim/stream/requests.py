"""Requests for another API, made from the transcripts of a chunk and counted as they read back."""

from collections.abc import Callable, Iterable, Sequence

from msgspec.structs import replace

from ctxtrim.findings import Finding
from ctxtrim.formats import FORMATS
from ctxtrim.formats.chunks import KEPT, LOST
from ctxtrim.formats.conversion import Conversion
from ctxtrim.formats.reading import open_reading
from ctxtrim.metering import Metering
from ctxtrim.model import Transcript
from ctxtrim.pipeline import PipelineRun
from ctxtrim.reports.failures import not_handled


def requests(
    transcripts: Iterable[Transcript],
    convert: Callable[[Transcript], Conversion],
    *,
    shows_tracebacks: bool,
) -> list[Conversion]:
    """The request of each transcript; after an unexpected error, none."""
    conversions = []
    for transcript in transcripts:
        try:
            conversions.append(convert(transcript))
        except Exception as error:  # noqa: BLE001 - an unexpected error must not stop the other transcripts
            finding = not_handled(error, transcript.line, shows_traceback=shows_tracebacks)
            conversions.append(Conversion(None, (finding,)))
    return conversions


def request_lines(
    results: Sequence[PipelineRun], conversions: Sequence[Conversion], metering: Metering
) -> tuple[bytes | None, list[PipelineRun], list[bool]]:
    """A line for each request, the results with losses and the counts of the requests, and whether
    each transcript is left out.
    """
    runs = []
    for result, conversion in zip(results, conversions, strict=True):
        counted = _counted(result, conversion, metering)
        runs.append(replace(counted, findings=(*result.findings, *conversion.findings)))
    texts = [conversion.text for conversion in conversions if conversion.text is not None]
    data = "".join(f"{text}\n" for text in texts).encode()
    return data or None, runs, [conversion.text is None for conversion in conversions]


def _counted(result: PipelineRun, conversion: Conversion, metering: Metering) -> PipelineRun:
    """The result with the messages and the tokens of the request, if a format reads it."""
    if conversion.text is None or conversion.to not in FORMATS:
        return result
    reading = open_reading([f"{conversion.text}\n".encode()], (FORMATS[conversion.to],))
    transcripts = [request for chunk in reading.chunks for request in chunk.transcripts]
    if len(transcripts) != 1:
        return result
    # Gemini's requests do not name their model
    request = replace(transcripts[0], model=transcripts[0].model or result.transcript.model)
    meter = metering.meter(request)
    count = meter.counter.count(request)
    return replace(result, transcript=request, meter=meter, count=count, edited=result.transcript)


def lost_lines(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings about lines of a file that a conversion does not keep."""
    lost = []
    for finding in findings:
        if finding.message.endswith(KEPT):
            finding = replace(finding, message=finding.message.removesuffix(KEPT) + LOST)
        lost.append(finding)
    return tuple(lost)
