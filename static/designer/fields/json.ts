/** JSON as text: kept as typed, written to the document as soon as it parses. */
import { type JsonValue, jsonProblem, parseJson, sameJson, writeJson } from '../model/json';
import { html } from '../view/html';
import type { MakeControl } from './field';

export const jsonControl: MakeControl = ({ session, spec, id, describedBy, emit, complain }) => {
  const area = html('textarea', {
    class: 'area mono',
    id,
    rows: 4,
    placeholder: spec.placeholder,
    spellcheck: 'false',
    autocapitalize: 'off',
    'aria-describedby': describedBy,
    readonly: session.readOnly,
    input: () => typed(),
    keydown: (event: KeyboardEvent) => {
      if (event.key === 'Escape') area.blur();
    },
  });
  const parsed = (): JsonValue | undefined => (area.value.trim() === '' ? undefined : parseJson(area.value));
  const typed = () => {
    const problem = area.value.trim() === '' ? undefined : jsonProblem(area.value);
    if (problem) complain(session.t('designer.field.json', problem));
    else emit(parsed());
  };
  return {
    element: area,
    show: (value) => {
      // Spaces and line breaks are the person's; the text is only replaced when it means something else.
      const broken = area.value.trim() !== '' && jsonProblem(area.value) !== undefined;
      if (broken && document.activeElement === area) return;
      if (!broken && sameJson(parsed(), value)) return;
      area.value = value === undefined ? '' : writeJson(value, 2);
    },
    focus: () => area.focus(),
    mark: (bad) => {
      area.classList.toggle('is-invalid', bad);
      if (bad) area.setAttribute('aria-invalid', 'true');
      else area.removeAttribute('aria-invalid');
    },
  };
};
