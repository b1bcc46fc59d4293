"""A result as one page: an HTML file that needs no network, to read, print and hand over."""
