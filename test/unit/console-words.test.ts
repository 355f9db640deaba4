import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { type Part, partsOf } from '../../src/console/lib/message-format.ts';
import { languageOf, t } from '../../src/console/lib/words.ts';
import {
  catalogueOf,
  englishTexts,
  parsed,
  type SyntaxNode,
  sources,
  textsOf,
  walk,
} from '../../tools/words.js';

/** The attributes of elements that people read or hear. */
const ATTRIBUTES = new Set([
  ...['alt', 'aria-label', 'caption', 'confirmLabel', 'consequence', 'does', 'heading', 'hint', 'label'],
  ...['note', 'notice', 'otherwise', 'placeholder', 'summary', 'title'],
]);
/** The properties of columns, options and tabs that people read. */
const PROPERTIES = new Set(['header', 'label', 'title', 'text', 'what', 'why', 'heading', 'verb']);
/** Examples of technical values. They are the same in every language. */
const TECHNICAL = new Set([
  ...['apiKey.create', '/api/v1/developers/sms', 'invalid_phone_number', 'X-Request-Id', 'MTN UG'],
  ...['example.com', 'https://example.com/webhooks'],
]);
/** Files with code samples, selectors, the name of the product and errors for developers. */
const WITHOUT_WORDS = new Set([
  ...['lib/brand.ts', 'lib/message-format.ts', 'lib/samples.ts', 'lib/shortcuts.ts'],
  'pages/first-run/commands.ts',
]);
/** An error that only a developer can meet. */
const FOR_DEVELOPERS = 'nobody is signed in here';

const LETTERS = /\p{L}{2}/u;
/** Not an abbreviation such as `URL`, a name such as `textBody`, or the end of a file's name. */
const WORD = /^\p{Lu}\p{Ll}|^\p{Ll}{4,}$| /u;
const SENTENCE = /\p{L}{2,} \p{L}{2,}/u;

const nameOf = (node: unknown): unknown => (node as { readonly value?: unknown } | undefined)?.value;

/** True if a node is an argument of `t`, the text of `T`, or a class name. */
function isHeld(parents: readonly SyntaxNode[]): boolean {
  return parents.some(
    (parent) =>
      (parent.type === 'CallExpression' && nameOf(parent.callee) === 't') ||
      (parent.type === 'JSXAttribute' && ['className', 'text', 'd'].includes(String(nameOf(parent.name)))),
  );
}

/** The words of a file that stand outside of `t` and `T`. */
function wordsOutside(file: string): string[] {
  const found: string[] = [];
  walk(parsed(file), (node, parents) => {
    if (node.type === 'JSXText' && LETTERS.test(String(node.value))) found.push(String(node.value).trim());
    if (node.type !== 'StringLiteral' && node.type !== 'TemplateElement') return;
    const text = String(node.type === 'StringLiteral' ? node.value : node.cooked);
    if (isHeld(parents) || TECHNICAL.has(text) || text === FOR_DEVELOPERS) return;
    const [parent] = parents;
    const isLabel = parent?.type === 'JSXAttribute' && ATTRIBUTES.has(String(nameOf(parent.name)));
    const isNamed = parent?.type === 'KeyValueProperty' && PROPERTIES.has(String(nameOf(parent.key)));
    const isRow = parents.some(({ type }) => type === 'JSXExpressionContainer') && text.includes('\n');
    const isText = isLabel ? LETTERS.test(text) : isNamed ? WORD.test(text) : SENTENCE.test(text) && !isRow;
    if (isText) found.push(text);
  });
  return found;
}

/** The names of values and tags of a text, each once. Numbers of plurals are values. */
function namesIn(parts: readonly Part[]): string[] {
  const names = parts.flatMap((part): string[] => {
    if (typeof part === 'string') return [];
    if ('tag' in part) return [`<${part.tag}>`, ...namesIn(part.inside)];
    if ('plural' in part) return [part.plural, ...Object.values(part.forms).flatMap(namesIn)];
    return [part.value];
  });
  return [...new Set(names)].sort();
}

const pluralsIn = (parts: readonly Part[]): string[][] =>
  parts.flatMap((part) => (typeof part === 'object' && 'plural' in part ? [Object.keys(part.forms)] : []));

describe('the words of the console', () => {
  it('stand in `t` and `T` in every file', () => {
    const files = sources().filter((name) => !WITHOUT_WORDS.has(name));
    const found = files.flatMap((file) => wordsOutside(file).map((words) => `${file}: ${words}`));
    expect(found).toEqual([]);
  });

  it('get the values and elements that they name', () => {
    for (const file of sources().filter((name) => !['lib/words.ts', 'ui/t.tsx'].includes(name))) {
      for (const { text, given } of textsOf(file)) {
        const names = namesIn(partsOf(text)).map((name) => name.replace(/^<(\w+)>$/, '$1'));
        const isEnough = given === undefined || names.every((name) => given.includes(name));
        expect({ file, text, given, isEnough }).toEqual({ file, text, given, isEnough: true });
      }
    }
  });
});

it('each module that is loaded later gets its words first', () => {
  const found = sources().flatMap((file) => {
    const text = readFileSync(`src/console/${file}`, 'utf8');
    return [...text.matchAll(/lazy\((?!\(\) => withWords\().*/g)].map(([call]) => `${file}: ${call}`);
  });
  expect(found).toEqual([]);
});

describe.each(['fr', 'sw'])('the catalogue of %s', (language) => {
  const [first, pages] = [catalogueOf(language), catalogueOf(`${language}-pages`)];
  const catalogue = { ...first, ...pages };

  it('has each text of the source and no other, those of the first load apart', () => {
    expect({ first: Object.keys(first), pages: Object.keys(pages) }).toEqual(englishTexts());
  });

  it('translates each text, with the same values, elements and plural forms', () => {
    for (const [english, translation] of Object.entries(catalogue)) {
      expect({ english, translation }).not.toEqual({ english, translation: '' });
      const [own, source] = [partsOf(translation), partsOf(english)];
      expect({ english, names: namesIn(own) }).toEqual({ english, names: namesIn(source) });
      // A language may need a plural where English has none.
      expect(pluralsIn(own).length).toBeGreaterThanOrEqual(pluralsIn(source).length);
      for (const forms of pluralsIn(own))
        expect({ english, forms }).toEqual({ english, forms: ['one', 'other'] });
    }
  });
});

describe('a text', () => {
  it('gets its values, and numbers are written as the language does', () => {
    expect(t('{first} and {count} more', { first: '+256700000001', count: 1_200 })).toBe(
      '+256700000001 and 1,200 more',
    );
  });

  it('has the form that fits the number', () => {
    const text = (count: number) => t('{count, plural, one {# key} other {# keys}}', { count });
    expect([0, 1, 2, 1_000].map(text)).toEqual(['0 keys', '1 key', '2 keys', '1,000 keys']);
  });

  it('is refused if it opens what it does not close, or closes what it did not open', () => {
    for (const text of ['{count', '{count, plural, one {# key}', '<link>overview', 'overview</link>', '}'])
      expect(() => partsOf(text)).toThrow(text);
  });
});

describe('the language of the console', () => {
  it('is the chosen one, or else the first preferred one that there is, or English', () => {
    expect(languageOf('sw', ['fr-FR'])).toBe('sw');
    expect(languageOf(null, ['de', 'fr-CD', 'en'])).toBe('fr');
    expect(languageOf('xx', ['en-US', 'sw'])).toBe('en');
    expect(languageOf(null, ['lg'])).toBe('en');
  });
});
