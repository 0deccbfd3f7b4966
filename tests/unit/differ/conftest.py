import pytest

from tests.unit.differ.upstream import running_upstream


@pytest.fixture
async def stable():
    async with running_upstream() as upstream:
        yield upstream


@pytest.fixture
async def candidate():
    async with running_upstream() as upstream:
        yield upstream
