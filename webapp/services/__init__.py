"""The use cases: pages, API, command line and poller call these services and nothing deeper.

Services are the only ones that open and commit units of work. Every method takes the actor, whose partition and
permissions decide what it may see and do.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from webapp.accounts.passwords import Passwords
from webapp.accounts.ports import AccountStore
from webapp.accounts.tenants import TenantDirectory
from webapp.engine.clock import Clock, IdSource
from webapp.engine.instances.bookmarks import BookmarkKind
from webapp.engine.ports.applicants import ApplicantResolver
from webapp.engine.ports.calendars import CalendarStore
from webapp.engine.ports.channels import Channel
from webapp.engine.ports.listeners import Listeners
from webapp.engine.ports.locks import Leases
from webapp.engine.ports.messaging import Publisher, Subscriptions, TopicPatterns
from webapp.engine.ports.notices import NoticeSettingsStore
from webapp.engine.ports.partitions import OneDatabase, PartitionDatabases
from webapp.engine.ports.stores import Stores
from webapp.engine.runtime.engine import Engine
from webapp.messages.catalog import Catalog
from webapp.services.accounts import AccountService
from webapp.services.answers import AnswerService
from webapp.services.audit import AuditService
from webapp.services.batches import BatchService
from webapp.services.calendars import CalendarCopy, CalendarService
from webapp.services.catalog import CatalogService
from webapp.services.children import ChildService
from webapp.services.commands import Commands
from webapp.services.decision_links import DecisionLinks
from webapp.services.definition_timers import DefinitionTimers
from webapp.services.definitions import DefinitionCache
from webapp.services.deliveries import DeliveryService
from webapp.services.directory import AccountDirectory
from webapp.services.endpoint_copy import EndpointCopy, mail_for_people
from webapp.services.endpoint_secrets import Box, SealedEndpoints
from webapp.services.endpoints import EndpointService
from webapp.services.external_tasks import ExternalTaskService
from webapp.services.follow_ups import FollowUpRunner
from webapp.services.hosting import HostingService
from webapp.services.housekeeping import HousekeepingService
from webapp.services.inbox import InboxService
from webapp.services.instances import InstanceService
from webapp.services.joint_commands import JointCommands
from webapp.services.monitor import MonitorService
from webapp.services.notice_copy import BuiltIn, NoticeCopy
from webapp.services.notice_preferences import PreferenceService
from webapp.services.notice_templates import TemplateService
from webapp.services.notice_texts import built_in_texts
from webapp.services.notice_writing import InAppChannel, NoticeChannel
from webapp.services.notices import NoticeService
from webapp.services.notifications import NotificationDispatcher
from webapp.services.operations import OperationService
from webapp.services.outbox import Outbox
from webapp.services.outgoing import build_outgoing
from webapp.services.pending_decisions import PendingDecisions
from webapp.services.purging import PurgeService
from webapp.services.returns import ReturnService
from webapp.services.schedules import ScheduleService
from webapp.services.sealing import SealingService
from webapp.services.sending import SendingService
from webapp.services.settings import ServiceSettings
from webapp.services.signals import SignalService
from webapp.services.storage import Storage
from webapp.services.substitutions import SubstitutionService
from webapp.services.tenants import TenantService
from webapp.services.upkeep import UpkeepService
from webapp.services.waiting_room import WaitingRoom


@dataclass(frozen=True, kw_only=True)
class Services:
    """All use cases of an installation."""

    catalog: CatalogService
    instances: InstanceService
    operations: OperationService
    batches: BatchService
    inbox: InboxService
    external_tasks: ExternalTaskService
    signals: SignalService
    monitor: MonitorService
    accounts: AccountService
    tenants: TenantService
    housekeeping: HousekeepingService
    purges: PurgeService
    follow_ups: FollowUpRunner
    substitutions: SubstitutionService
    returns: ReturnService
    timers: DefinitionTimers
    calendars: CalendarService
    schedules: ScheduleService
    children: ChildService
    answers: AnswerService
    hosting: HostingService
    sealing: SealingService
    upkeep: UpkeepService
    audit: AuditService
    notices: NoticeService
    notice_preferences: PreferenceService
    notice_templates: TemplateService
    endpoints: EndpointService
    deliveries: DeliveryService
    sending: SendingService
    decision_links: DecisionLinks


def build_services(
    *,
    stores: Stores,
    leases: Leases,
    accounts: AccountStore,
    engine: Engine,
    directory: AccountDirectory,
    calendars: CalendarStore,
    calendar_copy: CalendarCopy,
    notice_settings: NoticeSettingsStore,
    publisher: Publisher,
    clock: Clock,
    ids: IdSource,
    settings: ServiceSettings | None = None,
    passwords: Passwords | None = None,
    subscriptions: Subscriptions | None = None,
    channels: Sequence[Channel] = (),
    catalog: Catalog | None = None,
    link_key: str,
    secret_box: Box,
    tenants: TenantDirectory | None = None,
    databases: PartitionDatabases | None = None,
    check_database: Callable[[str], str] = str,
    listeners: Listeners | None = None,
    applicants: ApplicantResolver | None = None,
    notice_channel: NoticeChannel | None = None,
    built_in: BuiltIn | None = None,
    pause: Callable[[float], None] = time.sleep,
) -> Services:
    """Put the services together.

    *directory* and *calendar_copy* are those that the engine has: refreshed before each wave, never in it.
    *subscriptions* are those of the settings: what they want is kept in the outbox for another system. *channels* are
    the ways out of the house, *link_key* signs links to decisions, *secret_box* keeps
    what is secret. Without *databases* every partition lies in the
    platform's. *check_database* tells which addresses mean one database, and refuses what is none (``ValueError``).
    *listeners* and *applicants* are the application's. *built_in* are endpoints of people that nobody had to make;
    *notice_channel*, another way into the inbox, is for tests.
    """
    chosen = settings or ServiceSettings()
    tenants = tenants or TenantDirectory(accounts, clock, chosen.directory_seconds)
    databases = databases or OneDatabase()
    storage = Storage(stores, chosen, pause)
    storage.entry_of = databases.entry_of
    definitions = DefinitionCache(storage, engine, chosen.definition_cache_size)
    built_in = built_in or mail_for_people(channels)
    sealed = SealedEndpoints(notice_settings, secret_box)
    endpoint_copy = EndpointCopy(sealed, subscriptions or TopicPatterns(), clock)
    notice_copy = NoticeCopy(notice_settings, endpoint_copy, clock, built_in=built_in)
    outbox = Outbox(endpoint_copy, clock, ids, endpoint_copy.refresh)
    dispatcher = NotificationDispatcher(
        channel=notice_channel
        or InAppChannel(directory, notice_copy, built_in_texts(), zone=chosen.time_zone, language=chosen.language),
        directory=directory,
        clock=clock,
        listeners=listeners,
        applicants=applicants,
    )
    commands = Commands(
        storage=storage,
        leases=leases,
        publisher=publisher,
        clock=clock,
        ids=ids,
        definitions=definitions,
        directory=directory,
        calendars=calendar_copy,
        outbox=outbox,
        notices=notice_copy,
        notify=dispatcher.collect,
    )
    follow_ups = FollowUpRunner(storage=storage, leases=leases, clock=clock, settings=chosen)
    commands.settle = follow_ups.run_own
    children = ChildService(
        engine=engine,
        storage=storage,
        commands=commands,
        definitions=definitions,
        follow_ups=follow_ups,
        clock=clock,
        ids=ids,
    )
    instances = InstanceService(engine=engine, storage=storage, commands=commands, definitions=definitions)
    inbox = InboxService(engine=engine, storage=storage, commands=commands, definitions=definitions, clock=clock)
    pending = PendingDecisions(engine=engine, commands=commands, follow_ups=follow_ups, clock=clock)
    inbox.catch_up, inbox.decided, inbox.known = pending.catch_up, pending.remember, directory.known
    notices = NoticeService(storage, clock)
    preferences = PreferenceService(settings=notice_settings, clock=clock)
    preferences.built_in, preferences.changed = built_in, notice_copy.forget
    templates = TemplateService(settings=notice_settings, storage=storage, texts=built_in_texts(), clock=clock, ids=ids)
    templates.changed = notice_copy.forget
    timers = DefinitionTimers(
        engine=engine,
        storage=storage,
        commands=commands,
        definitions=definitions,
        clock=clock,
        settings=chosen,
    )
    sealing = SealingService(storage=storage, leases=leases, databases=databases, clock=clock)
    outgoing = build_outgoing(
        storage=storage,
        leases=leases,
        accounts=accounts,
        directory=directory,
        stored_endpoints=sealed,
        copy=endpoint_copy,
        channels=channels,
        catalog=catalog or Catalog.load(),
        tenants=tenants,
        databases=databases,
        clock=clock,
        ids=ids,
        settings=chosen,
        link_key=link_key,
    )
    commands.left_to_send = outgoing.sending.left
    purges = PurgeService(storage=storage, leases=leases, clock=clock, ids=ids, settings=chosen, pause=pause)
    housekeeping = HousekeepingService(
        engine=engine,
        storage=storage,
        leases=leases,
        commands=commands,
        joint=JointCommands(commands=commands, storage=storage, leases=leases, definitions=definitions, clock=clock),
        follow_ups=follow_ups,
        tenants=tenants,
        databases=databases,
        clock=clock,
        settings=chosen,
        purges=purges,
    )
    housekeeping.seal_secrets = sealed.seal_all
    housekeeping.handle_due(BookmarkKind.DEFINITION_TIMER, timers.fire)
    operations = OperationService(
        engine=engine,
        storage=storage,
        commands=commands,
        definitions=definitions,
        instances=instances,
        children=children,
        clock=clock,
        purges=purges,
    )
    batches = BatchService(
        storage=storage,
        commands=commands,
        definitions=definitions,
        operations=operations,
        databases=databases,
        clock=clock,
        ids=ids,
    )
    housekeeping.run_batches = batches.run_due
    return Services(
        catalog=CatalogService(
            engine=engine,
            storage=storage,
            definitions=definitions,
            timers=timers,
            calendars=calendar_copy,
            clock=clock,
            ids=ids,
        ),
        instances=instances,
        operations=operations,
        batches=batches,
        inbox=inbox,
        signals=SignalService(
            engine=engine,
            storage=storage,
            commands=commands,
            definitions=definitions,
            follow_ups=follow_ups,
            clock=clock,
            ids=ids,
            settings=chosen,
        ),
        returns=ReturnService(engine=engine, storage=storage, commands=commands, inbox=inbox),
        external_tasks=ExternalTaskService(
            engine=engine,
            storage=storage,
            commands=commands,
            clock=clock,
            ids=ids,
            waiting_room=WaitingRoom(chosen.long_polls, chosen.long_poll_interval_seconds),
        ),
        substitutions=SubstitutionService(accounts=accounts, directory=directory, clock=clock, ids=ids),
        monitor=MonitorService(storage=storage, definitions=definitions, instances=instances, accounts=accounts),
        accounts=AccountService(
            accounts=accounts,
            directory=directory,
            tenants=tenants,
            passwords=passwords or Passwords(),
            clock=clock,
            ids=ids,
        ),
        tenants=TenantService(
            accounts=accounts,
            directory=tenants,
            databases=databases,
            storage=storage,
            clock=clock,
            ids=ids,
            key=check_database,
        ),
        housekeeping=housekeeping,
        purges=purges,
        timers=timers,
        calendars=CalendarService(calendars=calendars, copy=calendar_copy, storage=storage, clock=clock, ids=ids),
        schedules=ScheduleService(clock=clock, settings=chosen),
        follow_ups=follow_ups,
        children=children,
        hosting=HostingService(storage),
        sealing=sealing,
        upkeep=UpkeepService(purges, sealing, outgoing.sending),
        audit=AuditService(storage, databases),
        endpoints=outgoing.endpoints,
        deliveries=outgoing.deliveries,
        sending=outgoing.sending,
        decision_links=outgoing.links,
        answers=AnswerService(storage=storage, commands=commands, clock=clock, settings=chosen),
        notices=notices,
        notice_preferences=preferences,
        notice_templates=templates,
    )


__all__ = ["ServiceSettings", "Services", "build_services"]
