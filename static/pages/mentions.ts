/** Says what a mention does, as soon as one is begun: the line below the comment that `data-mentions` names. */

import { onContent } from './partials';

const AT = /[@\uff20]/;

function show(area: HTMLTextAreaElement): void {
  const hint = document.getElementById(area.dataset.mentions ?? '');
  if (hint) hint.hidden = !AT.test(area.value);
}

/** Registers the listeners; a comment that was kept from an earlier visit may hold one already. */
export function startMentions(): void {
  onContent((root) => {
    for (const area of root.querySelectorAll<HTMLTextAreaElement>('textarea[data-mentions]')) show(area);
  });
  document.addEventListener('input', (event) => {
    const area = event.target;
    if (area instanceof HTMLTextAreaElement && area.dataset.mentions) show(area);
  });
}
