"""The command ``sample``: rankings sampled from a policy, written as a run."""

from __future__ import annotations

import io

from lightmeter.cli.console import say, write_out
from lightmeter.cli.inputs import load_inputs, load_plugins, one_run
from lightmeter.cli.notation import read_policy
from lightmeter.cli.outputs import check_outputs
from lightmeter.cli.parsing import Request
from lightmeter.errors import LightmeterError
from lightmeter.evaluation.sample import sample
from lightmeter.io.write_runs import check_trec, run_format, write_rankings, write_run
from lightmeter.terms.plugins import foreign_code


def run(request: Request) -> int:
    """Sample; the exit code."""
    if request.policy is None:
        raise LightmeterError("no policy is given. Name one, such as --policy 'PlackettLuce(alpha=1)'.")
    check_outputs(request)
    if request.output is not None:
        run_format(request.output)
    request.runs = [request.run]
    plugins = load_plugins(request)
    with foreign_code():
        policy = read_policy(request.policy, request.ties)
    collection = load_inputs(request, [], [policy], plugins).collection
    one_run(collection, request.run)
    many, depth = request.samples, request.depth
    with foreign_code():
        rankings = sample(collection, policy, many, request.rng, depth=depth, ties=request.ties)
    if request.output is not None:
        # a table names its run by its file, so that it can be evaluated beside the run it was sampled from
        is_trec = run_format(request.output)[0] == "trec"
        write_run(rankings if is_trec else rankings.drop("run"), request.output)
    else:
        check_trec(rankings, "standard output")
        content = io.BytesIO()
        write_rankings(rankings, content)
        write_out(content.getvalue())
    if not request.quiet:
        for note in collection.notes:
            say(note)
        queries = rankings["query"].n_unique()
        say(
            f"drawn from {policy}: {many} ranking{'s' if many > 1 else ''} of each of {queries} "
            f"quer{'ies' if queries > 1 else 'y'}, seed {request.rng}" + (f"; first {depth} documents" if depth else "")
        )
    return 0
