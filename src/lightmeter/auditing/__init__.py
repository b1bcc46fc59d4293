"""The audit of a table of scored people: who gets exposure, who is selected, and how sure that is."""
