/** Keys of the canvas and of the whole designer. */
import type { Direction } from '../model/walk';

export interface KeyHost {
  undo(): void;
  redo(): void;
  save(): void;
  duplicate(): void;
  selectAll(): void;
  remove(): void;
  nudge(by: { x: number; y: number }): boolean;
  walk(direction: Direction): void;
  addAfter(): void;
  fit(): void;
  zoom(steps: number): void;
  nextProblem(): void;
  escape(): void;
  open(): void;
  pan(held: boolean): void;
  /** Single keys are off while typing and when the account switched them off. */
  singleKeys(): boolean;
}

const ARROWS: Readonly<Record<string, Direction>> = {
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  ArrowDown: 'down',
};

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'));
}

function withCommand(event: KeyboardEvent, host: KeyHost): boolean {
  const key = event.key.toLowerCase();
  if (key === 's') host.save();
  else if (isTyping(event.target)) return false;
  else if (key === 'z' && event.shiftKey) host.redo();
  else if (key === 'z') host.undo();
  else if (key === 'y') host.redo();
  else if (key === 'd') host.duplicate();
  else if (key === 'a') host.selectAll();
  else return false;
  return true;
}

function nudge(direction: Direction, event: KeyboardEvent, host: KeyHost): boolean {
  const by = event.shiftKey ? 50 : 10;
  const x = direction === 'left' ? -by : direction === 'right' ? by : 0;
  const y = direction === 'up' ? -by : direction === 'down' ? by : 0;
  return host.nudge({ x, y });
}

/** Keys that need the focus on the canvas. */
function onCanvas(event: KeyboardEvent, host: KeyHost): boolean {
  const direction = ARROWS[event.key];
  if (direction !== undefined) {
    if (!event.altKey) return nudge(direction, event, host);
    host.walk(direction);
    return true;
  }
  if (event.key === 'Delete' || event.key === 'Backspace') host.remove();
  else if (event.key === 'Enter') host.open();
  else if (event.key === ' ') host.pan(true);
  else if (event.key === 'Escape') host.escape();
  else return false;
  return true;
}

function singleKey(event: KeyboardEvent, host: KeyHost): boolean {
  if (event.key === '/') host.addAfter();
  else if (event.code === 'Digit1' && event.shiftKey) host.fit();
  else if (event.key === '+' || event.key === '=') host.zoom(1);
  else if (event.key === '-') host.zoom(-1);
  else return false;
  return true;
}

/** Listens for keys; answers how to stop. */
export function listenForKeys(canvas: HTMLElement, host: KeyHost): void {
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing || document.querySelector('dialog[open]')) return;
    let handled = false;
    if (event.ctrlKey || event.metaKey) {
      handled = withCommand(event, host);
    } else if (event.key === 'F8') {
      host.nextProblem();
      handled = true;
    } else if (!isTyping(event.target)) {
      const here = event.target instanceof Node && canvas.contains(event.target);
      handled = (here && onCanvas(event, host)) || (host.singleKeys() && singleKey(event, host));
    }
    if (handled) event.preventDefault();
  });
  document.addEventListener('keyup', (event) => {
    if (event.key === ' ') host.pan(false);
  });
  window.addEventListener('blur', () => host.pan(false));
}
