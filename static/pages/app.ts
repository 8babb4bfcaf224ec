/** Entry of the pages' script: starts each small piece once, then marks the document as ready. */

import { startBell } from './bell';
import { startDialogs } from './dialogs';
import { startDrafts } from './drafts';
import { startInserting } from './inserting';
import { startKeys } from './keys';
import { startLive } from './live';
import { startMentions } from './mentions';
import { startMenus } from './menus';
import { startNavigation } from './navigation';
import { startPartials } from './partials';
import { startPreferences } from './preferences';
import { startSelectAll } from './select-all';
import { startSelection } from './selection';
import { startToasts } from './toasts';

startPreferences();
startPartials();
startDialogs();
startMenus();
startBell();
startToasts();
startDrafts();
startInserting();
startMentions();
startKeys();
startNavigation();
startSelectAll();
startLive();
startSelection();

// Browser tests wait for this attribute: evaluating a condition in the page is forbidden by the content policy.
document.documentElement.dataset.ready = 'true';
