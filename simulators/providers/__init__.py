"""What each provider's cache does: its rules as data (one YAML file a provider) and the models that play them.

`rules` reads the files, `prompts` turns a Trace into what a cache sees, `breakpoints`, `blocks` and `objects`
are the matching models, `replay` runs a log through them and sets the result beside what the log says.
"""
