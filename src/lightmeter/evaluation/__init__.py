"""The main job: a collection and measures to a result."""
