"""The role bundles of the specification (25 "Roles")."""

from webapp.accounts import permissions as p


def test_user_may_start_and_nothing_else() -> None:
    assert p.permissions_of(["user"]) == {"instances:start"}


def test_designer_is_a_user_who_reads_writes_and_publishes_definitions() -> None:
    assert p.permissions_of(["designer"]) == {
        "instances:start",
        "definitions:read",
        "definitions:write",
        "definitions:publish",
    }


def test_operator_reads_everything_and_operates_but_does_not_write_definitions() -> None:
    assert p.permissions_of(["operator"]) == {
        "instances:start",
        "definitions:read",
        "instances:read",
        "instances:operate",
        "tasks:all",
    }


def test_worker_only_works_on_external_tasks() -> None:
    assert p.permissions_of(["worker"]) == {"external-tasks:work"}


def test_administrator_has_every_permission_of_spec_13() -> None:
    assert p.permissions_of(["administrator"]) == {
        "definitions:read",
        "definitions:write",
        "definitions:publish",
        "instances:read",
        "instances:start",
        "instances:operate",
        "tasks:all",
        "external-tasks:work",
        "notifications:admin",
        "admin:users",
        "admin:tenants",
    }


def test_roles_add_up() -> None:
    assert p.permissions_of(["user", "worker"]) == {"instances:start", "external-tasks:work"}


def test_a_role_of_another_name_is_a_group_without_permissions() -> None:
    assert p.permissions_of(["finance", "Administrator"]) == frozenset()


def test_no_roles_no_permissions() -> None:
    assert p.permissions_of([]) == frozenset()
