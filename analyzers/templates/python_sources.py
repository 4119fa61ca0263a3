"""Calls of Python libraries whose results change, by their full names, and those that change nothing."""

import re
import sys

from analyzers.templates.parts import Cause


def _table(cause: Cause, names: str) -> dict[str, Cause]:
    return dict.fromkeys(names.split(), cause)


_BY_NAME = {
    **_table(
        Cause.CLOCK,
        "datetime.datetime.now datetime.datetime.utcnow datetime.datetime.today time.time time.time_ns time.monotonic "
        "time.perf_counter time.strftime time.ctime time.localtime time.gmtime time.asctime pandas.Timestamp.now "
        "pandas.Timestamp.utcnow pandas.Timestamp.today django.utils.timezone.now django.utils.timezone.localtime "
        "arrow.now arrow.utcnow pendulum.now numpy.datetime64.now whenever.Instant.now",
    ),
    **_table(
        Cause.DATE,
        "datetime.date.today pendulum.today django.utils.timezone.localdate arrow.today pendulum.yesterday",
    ),
    **_table(
        Cause.RANDOM_ID,
        "uuid.uuid1 uuid.uuid4 uuid.uuid6 uuid.uuid7 secrets.token_hex secrets.token_urlsafe secrets.token_bytes "
        "secrets.randbelow secrets.randbits os.urandom random.random random.randint random.randrange random.uniform "
        "random.gauss random.getrandbits random.randbytes numpy.random.rand numpy.random.randint numpy.random.random "
        "ulid.new ulid.ULID ulid.ulid nanoid.generate shortuuid.uuid bson.ObjectId cuid.cuid cuid2.cuid_wrapper",
    ),
    **_table(
        Cause.RANDOM_CHOICE,
        "random.choice random.choices random.sample random.shuffle secrets.choice numpy.random.choice "
        "numpy.random.permutation numpy.random.shuffle random.SystemRandom().choice random.SystemRandom().sample",
    ),
    **_table(
        Cause.ENVIRONMENT,
        "os.getcwd os.getpid os.getlogin os.uname os.getppid socket.gethostname socket.getfqdn platform.node "
        "platform.uname platform.platform getpass.getuser pathlib.Path.cwd pathlib.Path.home subprocess.check_output "
        "subprocess.run subprocess.getoutput threading.get_ident multiprocessing.current_process",
    ),
    **_table(
        Cause.UNORDERED,
        "os.listdir os.scandir os.walk glob.glob glob.iglob concurrent.futures.as_completed asyncio.as_completed "
        "pkgutil.iter_modules importlib.metadata.entry_points gc.get_objects",
    ),
    "itertools.count": Cause.COUNTER,
    "input": Cause.USER_INPUT,
    "hash": Cause.SALTED_HASH,
    "id": Cause.SALTED_HASH,
}
_BY_METHOD = {
    **_table(Cause.UNORDERED, "iterdir rglob glob list_tools imap_unordered as_completed"),
    **_table(
        Cause.RETRIEVED,
        "similarity_search similarity_search_with_score get_relevant_documents max_marginal_relevance_search "
        "aget_relevant_documents asimilarity_search retrieve fetchall fetchone fetchmany",
    ),
}
METHODS = frozenset(_BY_METHOD)
"""Methods of any object whose result changes."""

PURE_MODULES = frozenset(
    "textwrap re json html os.path pathlib itertools functools collections string math base64 hashlib operator copy "
    "unicodedata urllib.parse inspect datetime enum types decimal fractions zoneinfo yaml dataclasses typing io os "
    "zlib locale struct bisect heapq statistics".split()
)
"""What these compute depends on their arguments alone (sources of change above aside)."""
BUILTINS = frozenset(
    "str int float repr format dict list tuple sorted reversed enumerate zip map filter len min max sum any all range "
    "round abs bool print type isinstance getattr open input next iter set frozenset hash id bytes chr ord vars "
    "hasattr super callable divmod pow slice ascii hex bin".split()
)
STANDING = frozenset(
    "model_json_schema schema schema_json get_type_hints signature getsource getdoc to_openai_tool openai_schema "
    "convert_to_openai_tool convert_to_openai_function transform_schema".split()
)
"""Calls whose result is part of the program: schemas, signatures, sources."""
READS_FILES = frozenset(
    "read read_text read_bytes readlines load safe_load loads files joinpath get_data".split()
)
"""What a file of the program holds is the same until the next release."""
_LOADS_PROMPT = re.compile(
    r"(?:_|^)(?:load|read|get|fetch|build|make|open|render|create|compose)_?\w*(?:prompt|template|instructions?|persona|rules)s?$"
)
_HOST_VARIABLES = frozenset("HOSTNAME USER USERNAME LOGNAME PWD HOME POD_NAME HOST COMPUTERNAME PID".split())
_DAY = re.compile(r"%-?[dBbmYyjAaeFDxGVu]")
_CLOCK_TIME = re.compile(r"%-?[HIMSfXcpsTRr]")
_DAY_ATTRIBUTES = frozenset("year month day weekday isoweekday date isocalendar toordinal".split())


def cause_of_call(dotted: str) -> Cause | None:
    """Why the result of a library's function changes, None where nothing says that it does."""
    found = _BY_NAME.get(dotted)
    if found is not None:
        return found
    return _BY_METHOD.get(dotted.rpartition(".")[2]) if "." in dotted else None


def is_pure(dotted: str) -> bool:
    """True for a function whose result depends on its arguments alone."""
    owner = dotted.replace("()", "")
    while "." in owner:
        owner = owner.rpartition(".")[0]
        if owner in PURE_MODULES:
            return True
    return dotted in BUILTINS


def is_of_python(dotted: str) -> bool:
    """True for a function of Python's own library: it calls no model.

    Not for `dict`, which makes the body of a request, and objects: a mock stands for any.
    """
    if "()" in dotted:
        return False
    return dotted.partition(".")[0] in sys.stdlib_module_names or (dotted in BUILTINS and dotted != "dict")


def loads_a_prompt(function: str) -> bool:
    """True for `load_system_prompt` and the like: what it gives is text of the program."""
    return _LOADS_PROMPT.search(function.rpartition(".")[2]) is not None


def clock_as_shown(cause: Cause | None, format: str) -> Cause | None:
    """A clock written by a strftime format that shows the day alone is a date."""
    if cause is Cause.CLOCK and _DAY.search(format) and not _CLOCK_TIME.search(format):
        return Cause.DATE
    return cause


def clock_attribute(cause: Cause | None, name: str) -> Cause | None:
    """The cause of an attribute or method of a clock's value: `.year`, `.date()` are the day."""
    return Cause.DATE if cause is Cause.CLOCK and name in _DAY_ATTRIBUTES else cause


def environment_name(variable: str) -> str | None:
    """The name by which a variable of the environment is judged; None where it is the host's or the user's."""
    return None if variable.upper() in _HOST_VARIABLES else variable.lower()
