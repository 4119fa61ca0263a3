"""Tiny models, built once a session, on one thread."""

from collections.abc import Callable, Iterator
from functools import lru_cache

import pytest
import torch

from gpu_probe.models import LoadedModel, ModelRequest, load_model

Model = Callable[..., LoadedModel]


@lru_cache
def build(name: str, dtype: str = "float32", attention: str = "sdpa", seed: int = 0) -> LoadedModel:
    return load_model(ModelRequest(name, "cpu", dtype, attention, seed))


@pytest.fixture(scope="session")
def model() -> Model:
    return build


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
