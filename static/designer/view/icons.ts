/** Icons come from the sprite that the page already loads. */
import { html, svg } from './html';

let sprite: string | undefined;

/** Address of the sprite: said by the mount, else that of any icon in the page. */
export function findSprite(mount?: HTMLElement): void {
  const known = document.querySelector('svg use[href*="#"]')?.getAttribute('href') ?? '';
  sprite = mount?.dataset.icons ?? document.documentElement.dataset.icons ?? known.slice(0, known.indexOf('#'));
}

export function iconAddress(name: string): string {
  if (sprite === undefined) findSprite();
  return `${sprite}#${name}`;
}

export function icon(name: string, size: '' | 's' | 'l' = ''): SVGSVGElement {
  const shape = svg('use', { href: iconAddress(name) });
  return svg('svg', { class: size ? `i ${size}` : 'i', 'aria-hidden': 'true', focusable: 'false' }, shape);
}

/** A button with an icon alone: its label is its name and its tooltip. */
export function iconButton(
  label: string,
  name: string,
  attributes: Readonly<Record<string, string | boolean | undefined | ((event: never) => void)>> = {},
): HTMLButtonElement {
  const { class: extra, ...rest } = attributes;
  const className = extra ? `icon-btn ${extra}` : 'icon-btn';
  return html('button', { type: 'button', class: className, 'aria-label': label, title: label, ...rest }, icon(name));
}
