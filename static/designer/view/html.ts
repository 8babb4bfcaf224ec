/** Makes elements without markup text, so that nothing a document says is ever read as HTML. */

type Attributes = Readonly<Record<string, string | number | boolean | undefined | ((event: never) => void)>>;
type Child = Node | string | undefined | false;

function put(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) continue;
    if (typeof value === 'function') element.addEventListener(name, value as EventListener);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
}

/** An HTML element; functions among the attributes become listeners for the event of that name. */
export function html<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  put(element, attributes);
  element.append(...children.filter((child): child is Node | string => child !== undefined && child !== false));
  return element;
}

const SVG = 'http://www.w3.org/2000/svg';

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  put(element, attributes);
  element.append(...children.filter((child): child is Node | string => child !== undefined && child !== false));
  return element;
}

let serial = 0;

/** An id that nothing else in the page has, to tie labels, errors and lists to their controls. */
export function freshId(stem: string): string {
  serial += 1;
  return `wp-${stem}-${serial}`;
}

/** Replaces all children. */
export function fill(element: Element, ...children: readonly Child[]): void {
  element.replaceChildren(
    ...children.filter((child): child is Node | string => child !== undefined && child !== false),
  );
}
