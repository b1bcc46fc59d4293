"""What a result says: as records, and then as sentences. No plotting library is needed."""
