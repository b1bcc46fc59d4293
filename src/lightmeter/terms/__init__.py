"""What a term is: parameters, registration, notation, plugins, the catalogue."""
