"""The front ends of the linter: each turns files of one kind into prompts, as ordered lists of parts."""
