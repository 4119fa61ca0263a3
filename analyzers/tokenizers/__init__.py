"""Vocabularies, the engines that encode with them, and which model reads with which."""
