"""KV kept in a Redis server, in values of at most 64 MiB (a server accepts at most 512 MiB a value)."""

import uuid
from typing import Any

import torch

from analyzers.errors import UsageError
from gpu_probe.kv_file import Fingerprint, describe, parse_description
from gpu_probe.kv_image import KvImage
from gpu_probe.tiers.base import TierFailedError

_CHUNK_BYTES = 64 * 2**20
_EXPIRES_S = 900


def connect(url: str) -> Any:
    """A client of the server at `redis://host:port/db`. Raises UsageError when nothing answers there."""
    import redis

    try:
        client = redis.Redis.from_url(url, socket_connect_timeout=5, socket_timeout=30)
        client.ping()
    except (redis.RedisError, ValueError) as problem:
        raise UsageError(f"--redis {url}: no Redis server answers there ({problem})") from problem
    return client


class RedisTier:
    """Keys are unique to the run and expire, so that an interrupted probe leaves nothing for long."""

    name = "redis"
    waits = True

    def __init__(self, client: Any, owner: Fingerprint) -> None:
        self._client = client
        self._owner = owner
        self._prefix = f"pcache:probe:{uuid.uuid4().hex}"
        self._chunks = 0
        self._staging = torch.empty(0, dtype=torch.uint8)

    def store(self, image: KvImage) -> int:
        on_host = KvImage(image.layout, image.buffer.to("cpu"))
        if self._staging.numel() != on_host.buffer.numel():
            self._staging = torch.zeros_like(on_host.buffer)
        chunks = on_host.buffer.split(_CHUNK_BYTES)
        self._forget()
        try:
            for number, chunk in enumerate(chunks):
                self._client.set(self._key(number), memoryview(chunk.numpy()), ex=_EXPIRES_S)
                self._chunks = number + 1
            description = describe(on_host, self._owner, hash_payload=False)
            self._client.set(self._key("description"), description, ex=_EXPIRES_S)
        except self._failures() as problem:
            raise TierFailedError(f"tier redis: the server failed while storing ({problem})") from problem
        return int(on_host.buffer.numel())

    def prepare(self) -> None:
        return

    def restore(self, into: torch.Tensor) -> None:
        try:
            description = self._client.get(self._key("description"))
            parse_description(description or b"", "redis", self._owner)
            for number, place in enumerate(self._staging.split(_CHUNK_BYTES)):
                value = self._client.get(self._key(number))
                if value is None or len(value) != place.numel():
                    raise TierFailedError("tier redis: the server no longer has what was stored")
                # The value is read only; it is copied at once.
                place.numpy()[:] = memoryview(value)
        except self._failures() as problem:
            raise TierFailedError(f"tier redis: the server failed while restoring ({problem})") from problem
        into.copy_(self._staging)

    def close(self) -> None:
        self._staging = torch.empty(0, dtype=torch.uint8)
        try:
            self._forget()
        except self._failures():
            return  # the keys expire by themselves

    def _forget(self) -> None:
        if self._chunks:
            self._client.delete(self._key("description"), *(self._key(n) for n in range(self._chunks)))
        self._chunks = 0

    def _key(self, part: int | str) -> str:
        return f"{self._prefix}:{part}"

    @staticmethod
    def _failures() -> tuple[type[Exception], ...]:
        import redis

        return (redis.RedisError, OSError)
