"""What tests of learning need: packages that may be absent, and few threads."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def torch():
    module = pytest.importorskip("torch", reason="torch is not installed: pip install 'lightmeter[learn]'")
    module.set_num_threads(1)
    return module


@pytest.fixture(scope="session")
def lightgbm():
    return pytest.importorskip("lightgbm", reason="lightgbm is not installed: pip install 'lightmeter[learn]'")
