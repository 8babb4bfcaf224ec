import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { accept, complete, expressionParts, type TextKind, tokens } from '../../../static/designer/model/expression';
import { random } from './documents';

function words(source: string, kind: TextKind = 'expression'): readonly string[] {
  return tokens(source, kind)
    .filter((token) => token.kind !== 'space')
    .map((token) => `${token.kind}:${source.slice(token.from, token.to)}`);
}

describe('colours', () => {
  test('tell names, functions, texts, numbers and keywords apart', () => {
    assert.deepEqual(words(`upper(name) == 'a\\'b' && !true`), [
      'function:upper',
      'operator:(',
      'name:name',
      'operator:)',
      'operator:==',
      `text:'a\\'b'`,
      'operator:&&',
      'operator:!',
      'keyword:true',
    ]);
    assert.deepEqual(words('order.null >= 1.5'), [
      'name:order',
      'operator:.',
      'name:null',
      'operator:>=',
      'number:1.5',
    ]);
  });

  test('know Chinese names and mark what the language does not have', () => {
    assert.deepEqual(words('金额 # 2'), ['name:金额', 'bad:#', 'number:2']);
  });

  test('leave the text of a template plain, and end a placeholder behind texts only', () => {
    assert.deepEqual(words(`Hi {{ n + '}}' }}!`, 'template'), [
      'plain:Hi ',
      'operator:{{',
      'name:n',
      'operator:+',
      `text:'}}'`,
      'operator:}}',
      'plain:!',
    ]);
    assert.deepEqual(expressionParts('a {{b', 'template'), [{ from: 4, to: 5 }]);
  });

  test('cover every character once, whatever is typed', () => {
    const roll = random(5);
    const alphabet = [...'ab1 .,(){}[]\'"\\+-&|=!中#\n'];
    for (let i = 0; i < 3000; i += 1) {
      const source = Array.from(
        { length: Math.floor(roll() * 24) },
        () => alphabet[Math.floor(roll() * alphabet.length)],
      ).join('');
      for (const kind of ['expression', 'template'] as const) {
        const joined = tokens(source, kind)
          .map(({ from, to }) => source.slice(from, to))
          .join('');
        assert.equal(joined, source, `${kind} ${JSON.stringify(source)}`);
      }
    }
  });
});

describe('suggestions', () => {
  const variables = [
    { name: 'department', type: 'Text', origin: 'from Start' },
    { name: 'days', type: '', origin: 'from Start' },
  ];
  const names = (source: string, caret = source.length, kind: TextKind = 'expression', all = false) =>
    complete(source, caret, kind, variables, all)?.suggestions.map(({ name }) => name);

  test('begin with what begins like the word, variables before functions', () => {
    assert.deepEqual(names('da'), ['days', 'date']);
    assert.deepEqual(names('1 + DEP'), ['department']);
    assert.equal(names('days'), undefined);
  });

  test('are not offered behind a point, inside a text, or outside of braces', () => {
    assert.equal(names('order.da'), undefined);
    assert.equal(names("'da"), undefined);
    assert.equal(names('da', 2, 'template'), undefined);
    assert.deepEqual(names('{{da}}', 4, 'template'), ['days', 'date']);
  });

  test('come without a word only when asked for', () => {
    assert.equal(names('', 0), undefined);
    assert.equal(names('', 0, 'expression', true)?.[0], 'department');
    assert.ok(names("days > 2 && 'x' == ", undefined, 'expression', true)?.includes('days'));
  });

  test('replace the word, and put the caret between the parentheses', () => {
    const source = 'upp + 1';
    const found = complete(source, 3, 'expression', variables);
    assert.ok(found);
    assert.deepEqual(accept(source, found, found.suggestions[0] as never), { text: 'upper() + 1', caret: 6 });
    const called = complete('len(x)', 2, 'expression', variables);
    assert.ok(called);
    assert.deepEqual(accept('len(x)', called, called.suggestions[0] as never), { text: 'len(x)', caret: 3 });
  });
});
