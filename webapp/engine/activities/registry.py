"""The registry of activities: which types run, in the order of the palette (spec 4, 14)."""

from __future__ import annotations

from collections.abc import Iterable

from webapp.engine.activities.api import Activity
from webapp.engine.descriptors import ActivityDescriptor, Category

_CATEGORIES = list(Category)


class ActivityRegistry:
    """Activities by type name; a name belongs to one class."""

    def __init__(self, activities: Iterable[Activity] = ()) -> None:
        self._activities: dict[str, Activity] = {}
        for activity in activities:
            self.register(activity)

    def register(self, activity: Activity) -> None:
        """Add an activity; the same class again replaces it.

        :raises ValueError: another class has that type name already.
        """
        name = activity.descriptor.type
        present = self._activities.get(name)
        if present is not None and type(present) is not type(activity):
            raise ValueError(
                f"The activity type {name!r} is registered for {type(present).__qualname__}"
                f" and for {type(activity).__qualname__}; give one of them another type name."
            )
        self._activities[name] = activity

    def get(self, type_name: str) -> Activity | None:
        """Return the activity of that type, or None."""
        return self._activities.get(type_name)

    def descriptor(self, type_name: str) -> ActivityDescriptor | None:
        """Return the descriptor of that type, or None."""
        activity = self._activities.get(type_name)
        return None if activity is None else activity.descriptor

    def descriptors(self) -> list[ActivityDescriptor]:
        """Return all descriptors: by category, inside one in the order of registration."""
        found = [activity.descriptor for activity in self._activities.values()]
        return sorted(found, key=lambda descriptor: _CATEGORIES.index(descriptor.category))
