/** The closed list of property editors: each has its control here. Adding one is a line, its file, and its texts. */
import type { EditorName } from '../model/activities';
import { numberFromText } from '../model/json';
import { assigneeRulesControl } from './assignees';
import { durationControl } from './duration';
import { conditionControl, expressionControl, longTemplateControl, templateControl } from './expression';
import type { MakeControl } from './field';
import { formControl } from './form';
import { jsonControl } from './json';
import { keyValueControl } from './keyValue';
import { listControl } from './list';
import { choiceControl, definitionControl, longTextControl, numberControl, switchControl, textControl } from './plain';

/** A text or number that may also be computed is edited as an expression, whose literals are the plain values. */
const numberOrExpression: MakeControl = (context) =>
  context.spec.kind === 'literalOrExpression' ? literalOrExpression(context) : numberControl(context);

const literalOrExpression: MakeControl = (context) => {
  const control = expressionControl({
    ...context,
    emit: (value) => {
      const number = typeof value === 'string' ? numberFromText(value) : undefined;
      context.emit(number ?? value);
    },
  });
  return control;
};

export const CONTROLS: Readonly<Record<EditorName, MakeControl>> = {
  text: (context) => (context.spec.kind === 'template' ? templateControl(context) : textControl(context)),
  longText: (context) => (context.spec.kind === 'template' ? longTemplateControl(context) : longTextControl(context)),
  number: numberOrExpression,
  duration: durationControl,
  switch: switchControl,
  choice: choiceControl,
  list: listControl,
  keyValue: keyValueControl,
  expression: expressionControl,
  template: templateControl,
  condition: conditionControl,
  assigneeRules: assigneeRulesControl,
  form: formControl,
  definition: definitionControl,
  json: jsonControl,
};
