"""Readers: files and frames in, checked columns out."""
