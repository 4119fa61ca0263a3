"""One file a rule, `pcNNN_name.py`: its docstring is its documentation, `RULE` its entry in the registry.

The ids, so that no two rules take the same one. A cause has one id wherever it is found.

PC0 the linter itself
    PC001 unused-ignore            a `pcache: ignore` comment that silences nothing
PC1 volatile text
    PC101 clock                    a time of day, a time stamp, a clock call
    PC102 date                     a calendar day
    PC103 random-id                UUID, ULID, nonce, trace id, digest, random token
    PC104 counter                  turn 7 of 20, a sequence number, tokens left
    PC105 environment              host, process, folder, git status, user of the process
    PC106 identity                 user, tenant, session, account, e-mail
    PC107 retrieved                recalled memories, retrieved passages, search results
    PC108 user-input               the question or the user's own text before fixed text
    PC109 random-choice            examples sampled, shuffled or chosen at random
    PC110 varying-value            a value that changes and fits none of the above
    PC111 conditional-text         text that comes and goes with a condition, before fixed text
    PC112 parameter-text           a request parameter written into the head of the prompt
    PC113 unfilled-placeholder     `{{ name }}` sent to the model as it stands
    PC114 dead-text                text, macro, variable or tool that never reaches the model or is never used
PC2 order and serialisation
    PC201 tools-reordered          the same tools in another order, or in an order nobody fixed
    PC202 key-order                the same JSON with keys in another order, or without sorted keys
    PC203 tools-changed            a tool added, removed or redefined
    PC204 unordered                a set, a folder listing, threads as they finish: no fixed order
    PC205 salted-hash              Python's hash(), different in every process
    PC206 line-ends                mixed or Windows line ends
    PC207 white-space              white space that varies or trails
    PC208 unicode-form             the same text in another Unicode normal form
    PC209 tools-conditional        a tool list that depends on a condition or on the user
    PC210 passages-reordered       the same passages in another order
    PC211 image-reencoded          an image encoded anew for every request
    PC212 encoding                 a byte order mark or an encoding other than UTF-8
PC3 cache markers
    PC301 too-many-markers         more markers than the provider takes
    PC302 marker-on-empty-block    a marker on empty or white-space text
    PC303 marker-ttl-order         a longer lifetime after a shorter one
    PC304 marker-lookback          the entry lies further back than the provider looks
    PC305 below-minimum            the marked prefix is shorter than the model's minimum
    PC306 marker-on-volatile-block a marker on, or right behind, text that differs in every request
    PC307 marker-missing           a long stable prefix without the marker that this provider needs
    PC308 marker-dropped           markers that a gateway or library loses on the way
    PC309 marker-invalid-ttl       a lifetime that the provider or the model does not know
    PC310 marker-duplicate         two markers on one boundary
    PC311 marker-orphan            a marker with nothing before it
    PC312 marker-misplaced         a marker where the provider ignores or refuses it (nested, thinking block)
    PC313 marker-moved-back        a marker that stands earlier, or is gone, in the next request
    PC314 marker-stale             the last marker lies far behind the end: a long tail is never cached
    PC315 marker-ttl-changed       the same boundary with another lifetime
    PC316 write-never-read         entries written that nothing reads
PC4 parameters
    PC401 model-changed
    PC402 thinking-changed
    PC403 effort-changed
    PC404 tool-choice-changed
    PC405 schema-changed           the response schema or format
    PC406 parameter-changed        another parameter that is part of the cache key (speed, service tier …)
    PC407 server-tool-toggled      web search, citations
    PC408 surface-changed          another API, another endpoint, another beta header
    PC409 model-from-environment   the model is read from the environment
PC5 history and re-rendering
    PC501 history-window           the oldest messages are dropped, turn by turn
    PC502 history-edited           an old message differs
    PC503 block-moved              a block stands only on the newest turn
    PC504 tool-results-cleared     old tool results are replaced
    PC505 history-white-space      an old message differs in white space only
    PC506 arguments-reserialised   tool-call arguments come back in another form
    PC507 image-replaced           an old picture is replaced
    PC508 compaction               the history is replaced by a summary
    PC509 reasoning-stripped       reasoning of old turns is gone
    PC510 role-changed             an old message has another role
    PC511 retokenised              the same text in other tokens
    PC512 generation-prompt        the template's generation prompt is not in the history it renders later
    PC513 double-bos               the beginning-of-sequence token is written twice
    PC514 history-rerendered       the template renders an old turn differently once it is old
    PC515 truncated                a text is cut to a length that differs
    PC516 whole-prompt-changed     nothing of the earlier prompt is left
PC6 time, identity, routing
    PC601 expired                  the entry was older than its lifetime
    PC602 first-ever               nothing like it was sent before
    PC603 concurrent-cold          sent before the entry could be read
    PC604 cache-key                another or missing routing key
    PC605 upstream-changed         another provider, host or replica
    PC606 lifetime-tier-changed    writes move from one lifetime to another
    PC607 account-changed          another account, workspace or namespace
    PC608 provider-side            nothing changed and nothing was read
    PC609 lifetime-not-earned      the premium of a longer lifetime does not pay, or would
    PC610 crosses-tenants          text of one tenant inside a prefix that others share
    PC611 locked-prefix-changed    a prefix differs from its committed lock
    PC612 no-version               a template without a version
PC7 accounting
    PC701 inclusive-exclusive      cached tokens counted inside and outside the prompt
    PC702 cached-above-prompt      more tokens cached than sent
    PC703 usage-repeated           one call's usage on several rows
    PC704 lifetime-mispriced       one-hour writes at the five-minute price
    PC705 missing-is-not-zero      rows without a cache field taken for misses
    PC706 tier-ignored             a context tier, batch or service tier left out of the price
    PC707 write-charged-twice      written tokens priced as input and again as written
    PC708 cached-tokens-ignored    code that reads usage without its cached tokens
PC8 engine geometry and size
    PC801 block-tail               the tail below one block is never reused
    PC802 window-reprocess         a sliding-window or recurrent state cannot be cut back
    PC803 cache-mutated            a cache object reused after it grew
    PC804 cache-unit               the provider's unit rounds the hit down
    PC805 token-seam               a token spans the end of the fixed text
    PC806 context-window           the prompt does not fit, or nearly does not fit, the context window
    PC807 tools-after-system       the template renders the tools behind the system text
"""
