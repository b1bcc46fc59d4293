from __future__ import annotations
def run_demo() -> int:
    return 0
