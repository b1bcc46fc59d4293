"""What all tests share: hypothesis profiles, and the real collections that may lie beside the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

ROOT = Path(__file__).resolve().parent.parent

# No deadline: two workers share a machine with whatever else runs there. pytest-randomly prints the seed to repeat.
# No explaining of a failure: it takes minutes here, and the shrunk example says enough.
settings.register_profile(
    "default",
    deadline=None,
    max_examples=50,
    phases=[p for p in Phase if p is not Phase.explain],
    suppress_health_check=[HealthCheck.too_slow],
)
# The same examples at every run, so that a change is judged by what it changes; `make fuzz` searches further.
settings.register_profile("ci", settings.get_profile("default"), derandomize=True, print_blob=True)
settings.register_profile("thorough", settings.get_profile("default"), max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "default"))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real collections beside the repository (never inside it); the test is skipped without it."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no real collections here: this test reads ../shared/data, beside the repository")
    return folder
