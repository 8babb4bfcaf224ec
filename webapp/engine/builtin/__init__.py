"""The built-in activities: one file each, and the one list of them (spec 4)."""

from __future__ import annotations

from webapp.engine.activities.api import Activity
from webapp.engine.builtin.compensate import CompensateActivity
from webapp.engine.builtin.decision import DecisionActivity
from webapp.engine.builtin.delay import DelayActivity
from webapp.engine.builtin.end import EndActivity
from webapp.engine.builtin.event_gateway import EventGatewayActivity
from webapp.engine.builtin.external_task import ExternalTaskActivity
from webapp.engine.builtin.fault import FaultActivity
from webapp.engine.builtin.for_each import ForEachActivity
from webapp.engine.builtin.http import HttpActivity
from webapp.engine.builtin.join import JoinActivity
from webapp.engine.builtin.log import LogActivity
from webapp.engine.builtin.parallel import ParallelActivity
from webapp.engine.builtin.publish_event import PublishEventActivity
from webapp.engine.builtin.set_variable import SetVariableActivity
from webapp.engine.builtin.start import StartActivity
from webapp.engine.builtin.sub_workflow import SubWorkflowActivity
from webapp.engine.builtin.terminate import TerminateActivity
from webapp.engine.builtin.user_task import UserTaskActivity
from webapp.engine.builtin.wait_signal import WaitSignalActivity

BUILTIN: tuple[Activity, ...] = (
    StartActivity(),
    EndActivity(),
    TerminateActivity(),
    UserTaskActivity(),
    DecisionActivity(),
    ParallelActivity(),
    JoinActivity(),
    DelayActivity(),
    HttpActivity(),
    SubWorkflowActivity(),
    ForEachActivity(),
    ExternalTaskActivity(),
    PublishEventActivity(),
    WaitSignalActivity(),
    EventGatewayActivity(),
    SetVariableActivity(),
    LogActivity(),
    FaultActivity(),
    CompensateActivity(),
)
"""Every activity that runs; a descriptor that is not here is in no palette. The application gives Http its client."""
