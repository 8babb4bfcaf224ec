/** A question over the page; the focus goes back to where it came from. */
import { freshId, html } from '../view/html';

export interface DialogButton {
  readonly label: string;
  readonly kind?: 'primary' | 'danger' | 'ghost' | '';
  /** Answers false to leave the dialog open. */
  act(button: HTMLButtonElement): unknown;
}

export class Dialog {
  private readonly element: HTMLDialogElement;
  private readonly actions = html('div', { class: 'acts' });
  readonly body = html('div', { class: 'dialog-body' });

  constructor(title: string, wide = false) {
    const id = freshId('dialog');
    this.element = html(
      'dialog',
      { class: wide ? 'dialog wide' : 'dialog', 'aria-labelledby': id },
      html('h2', { id }, title),
      this.body,
      this.actions,
    );
    this.element.addEventListener('close', () => this.element.remove());
  }

  fill(content: readonly (Node | string)[], buttons: readonly DialogButton[]): void {
    this.body.replaceChildren(...content);
    this.actions.replaceChildren(
      ...buttons.map(({ label, kind, act }) => {
        const button = html('button', { type: 'button', class: kind ? `btn ${kind}` : 'btn' }, label);
        button.addEventListener('click', async () => {
          if ((await act(button)) !== false) this.close();
        });
        return button;
      }),
    );
  }

  open(): void {
    document.body.append(this.element);
    this.element.showModal();
  }

  close(): void {
    this.element.close();
  }
}
