"""The memory set of stores: for tests and for trying things out; nothing outlives the process."""

from webapp.stores.memory.leases import MemoryLeases
from webapp.stores.memory.unit_of_work import MemoryStores

__all__ = ["MemoryLeases", "MemoryStores"]
