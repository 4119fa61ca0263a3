"""A log in shards on one machine: in bounded memory, on several processes, and resumed after a kill."""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from uuid import uuid4

from analyzers.errors import CannotEvaluateError, InputError
from analyzers.pipeline import TOOL_VERSION, TraceOptions
from analyzers.rendering import content_digest
from analyzers.shards.merge import MergedTrace, merge_pieces
from analyzers.shards.merged_rows import stale_pieces
from analyzers.shards.piece import Piece
from analyzers.shards.piece_maker import piece_maker
from analyzers.shards.plan import Plan, Shard, check_unchanged, read_at_once
from analyzers.shards.room import FolderRoom
from analyzers.shards.slices import needs_reading_together, read_slices
from analyzers.shards.work_folder import WorkFolder, work_folder

Progress = Callable[[int, int], None]
"""Called with how many shards are done, of how many."""


@dataclass(frozen=True)
class ShardTask:
    """One shard to be made into pieces in a folder, with a tokenizer, or with the one it calls for."""

    shard: Shard
    plan: Plan
    options: TraceOptions
    folder: Path
    tokenizer: str | None = None


def make_pieces(task: ShardTask) -> None:
    """Make the pieces of a shard that are not there yet. Raises what reading and tokenizing raise."""
    folder, number = WorkFolder(task.folder), task.shard.number
    done = folder.has_pieces(number)
    maker = piece_maker(task.options)
    for log_slice in read_slices(task.shard, task.plan.options, skip=done):
        folder.save(number, log_slice.number, maker.piece(log_slice, task.tokenizer))
    folder.finish(number)


class LostWorkerError(CannotEvaluateError):
    """A process that read was killed."""


@contextmanager
def trace_in_shards(
    plan: Plan, options: TraceOptions, folder: Path, jobs: int = 1, progress: Progress | None = None
) -> Iterator[MergedTrace]:
    """The Trace of a log, shard by shard, on `jobs` processes: what `trace_log` gives, byte for byte once saved.

    `folder` holds the pieces meanwhile, and the large arrays of the Trace as long as the context lasts; if a run in it
    was killed, what it had read is not read again, unless it came from standard input. Raises what `read_log` and
    `trace_log` raise, InputError for a file that changes meanwhile, LostWorkerError.
    """
    with work_folder(folder, _fingerprint(plan, options)) as work:
        try:
            merged = merge_pieces(
                _pieces(plan, options, work, jobs, progress), options, FolderRoom(work.room())
            )
            for note in check_unchanged(plan):
                merged.log.note(note)
        except LostWorkerError:
            raise
        except (InputError, CannotEvaluateError):
            work.forget_all()  # the same files would fail again
            raise
        except BaseException:
            if plan.has_stdin:
                work.forget_all()
            raise
        yield merged


def _fingerprint(plan: Plan, options: TraceOptions) -> str:
    """Of all that pieces depend on. Standard input has nothing to know it by."""
    if plan.has_stdin:
        return uuid4().hex
    # The namespaces are told apart when the pieces are merged.
    return content_digest((plan.fingerprint, repr(replace(options, namespace=None)), TOOL_VERSION)).hex()


def _pieces(
    plan: Plan, options: TraceOptions, work: WorkFolder, jobs: int, progress: Progress | None
) -> list[Piece]:
    """All pieces of the log, made with one tokenizer."""
    _make_all([ShardTask(shard, plan, options, work.path) for shard in plan.shards], work, jobs, progress)
    pieces = work.pieces(len(plan.shards))
    if needs_reading_together([piece.account for piece in _all(pieces)]):
        plan, work = read_at_once(plan), work.together()
        _make_all([ShardTask(plan.shards[0], plan, options, work.path)], work, 1, progress)
        pieces = work.pieces(1)
    stale = stale_pieces(_all(pieces), options)
    if stale is not None:
        shard_of = [shard for shard, some in zip(plan.shards, pieces, strict=True) for _ in some]
        again = {shard_of[piece].number: shard_of[piece] for piece in stale.pieces}
        for number in again:
            work.forget(number)
        tasks = [ShardTask(shard, plan, options, work.path, stale.tokenizer) for shard in again.values()]
        _make_all(tasks, work, jobs, progress)
        pieces = work.pieces(len(plan.shards))
    piece_maker.cache_clear()  # the merge can have its memory
    return _all(pieces)


def _all(pieces: Sequence[Sequence[Piece]]) -> list[Piece]:
    return [piece for of_shard in pieces for piece in of_shard]


def _make_all(tasks: Sequence[ShardTask], work: WorkFolder, jobs: int, progress: Progress | None) -> None:
    left = [task for task in tasks if not work.is_finished(task.shard.number)]
    done = len(tasks) - len(left)

    def tell() -> None:
        if progress is not None:
            progress(done, len(tasks))

    tell()
    workers = min(jobs, len(left), os.cpu_count() or 1)
    if workers <= 1:
        for task in left:
            make_pieces(task)
            done += 1
            tell()
        return
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _end_with_the_parent)
    try:
        with _interrupts_held():
            futures: list[Future[None]] = [pool.submit(make_pieces, task) for task in left]
        for future in futures:  # in order, so that of several errors the first in the log is told
            future.result()
            done += 1
            tell()
    except BaseException as problem:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in active_children():
            worker.terminate()
        if isinstance(problem, BrokenProcessPool):
            raise LostWorkerError(
                "A process that read the log was killed, perhaps for lack of memory; give fewer --jobs or a smaller "
                "--shard-size. The same command goes on where this one stopped."
            ) from problem
        raise
    pool.shutdown()


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """Let interrupts wait. Processes begun meanwhile hold them for ever: the parent ends those."""
    if sys.platform == "win32":
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_the_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""
    threading.Thread(target=_wait_for_the_parent, daemon=True).start()


def _wait_for_the_parent() -> None:
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
