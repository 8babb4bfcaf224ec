/** Which clicks and gestures select what. Takes the place of diagram-js's behaviour, which unselects on a second click. */
import type { Canvas, DjsElement, EventBus, Selection } from './djs';

interface Ended {
  readonly elements?: readonly DjsElement[];
  readonly connection?: DjsElement;
  readonly shape?: DjsElement;
}

export class SelectionBehavior {
  static $inject = ['eventBus', 'selection', 'canvas'];

  constructor(eventBus: EventBus, selection: Selection, canvas: Canvas) {
    eventBus.on('element.click', ({ element, originalEvent }) => {
      if (originalEvent && originalEvent.button !== 0) return;
      const add = originalEvent?.shiftKey === true;
      if (element === canvas.getRootElement()) {
        if (!add) selection.select(null);
      } else if (add && selection.isSelected(element)) {
        selection.deselect(element);
      } else if (add || !selection.isSelected(element) || selection.get().length > 1) {
        selection.select(element, add);
      }
    });
    eventBus.on('create.end', 500, ({ context }) => {
      const { elements } = context as Ended;
      if (elements?.length) selection.select(elements);
    });
    eventBus.on('connect.end', 500, ({ context }) => {
      const { connection } = context as Ended;
      if (connection) selection.select(connection);
    });
    eventBus.on('shape.move.end', 500, (event) => {
      const { shape } = event.context as Ended;
      const { previousSelection = [] } = event as unknown as { previousSelection?: readonly DjsElement[] };
      // A node that was grabbed out of no selection is selected; a whole selection that was moved stays so.
      if (shape && !previousSelection.includes(shape)) selection.select(shape);
    });
  }
}
