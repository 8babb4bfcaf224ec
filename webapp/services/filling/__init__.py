"""``demo fill``: an installation full of plausible accounts, instances and tasks, each as the engine writes it."""

from webapp.services.filling.plan import Amounts
from webapp.services.filling.service import FillReport, FillService
from webapp.services.filling.stage import Stage
from webapp.services.filling.stories import SAMPLES

__all__ = ["SAMPLES", "Amounts", "FillReport", "FillService", "Stage"]
