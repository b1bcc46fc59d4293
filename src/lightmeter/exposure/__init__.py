"""Expected exposure: of policies, and of targets."""
