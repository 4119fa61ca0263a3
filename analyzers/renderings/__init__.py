"""How requests of each dialect become the text a model reads."""
