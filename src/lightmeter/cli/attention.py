"""The command ``attention``: a click log in, attention by rank out."""

from __future__ import annotations

from lightmeter.cli.console import say
from lightmeter.cli.outputs import DATA_FORMATS, check_outputs, write_content
from lightmeter.cli.parsing import Request
from lightmeter.clicks.estimate import estimate_attention
from lightmeter.clicks.log import read_clicks
from lightmeter.io.files import check_not_input


def run(request: Request) -> int:
    """Estimate attention; the exit code."""
    form = check_outputs(request)
    log = read_clicks(request.clicks, columns=request.columns or None)
    if request.output is not None:
        check_not_input(request.output, "--output", [request.clicks, *log.source.files])
    estimate = estimate_attention(
        log,
        method=request.method,
        depth=request.depth,
        reference=request.reference,
        level=request.level,
        resamples=request.resamples,
        rng=request.rng,
    )
    write_content(request, estimate.render(form))
    if not request.quiet and (request.output is not None or form in DATA_FORMATS):
        for line in estimate.layout().notes:
            say(line)
    return 0
