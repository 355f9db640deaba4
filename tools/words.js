/**
 * The catalogues of the console's words. English is in the source, as the arguments of `t` and `<T text>`; the other
 * languages are in src/console/words, by the English text: `fr.json` for the first load, `fr-pages.json` for what is
 * loaded later. `npm run words` adds what the source has and a catalogue has not, with an empty translation, and takes
 * out what the source has no longer. A test fails while one is empty.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { posix } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseSync } from '@swc/core';

const ROOT = 'src/console';
const CATALOGUES = 'src/console/words';

/** The enumerations of the schema whose values `formatName` shows. */
const ENUMS =
  'Channel DeliveryStatus Environment ImportState LedgerEntryKind MessageAction MessageCause MessageStatus MessageType ' +
  'ProviderState Purpose PushPriority Role Scope SenderStatus StatusReason';
/** What else `formatName` shows: states that the console itself finds, and fields of a message's content. */
const NAMES =
  'ACTIVE PAUSED DISABLED HEALTHY FAILING REVOKED EXPIRED DONE TO_DO TOP-UP NEVER_USED ONE_TIME THIS_ONE ACCEPTED ' +
  'SCHEDULED QUEUED SUBMITTED READ REFUNDED SUBJECT HTML REPLY_TO CC BCC HEADERS ATTACHMENTS TITLE DATA IMAGE_URL ' +
  'CLICK_URL COLLAPSE_KEY TTL_SECONDS PRIORITY USER_IDS DEVICE_IDS TYPE NAME LANGUAGE COMPONENTS CAPTION URL PREVIEW_URL';

/** Makes a name of the API readable, as `formatName` of the console does in English. */
function readable(name) {
  const text = name
    .toLowerCase()
    .replaceAll('_', ' ')
    .replace(/\b(sms|api|csv|otp)\b/g, (word) => word.toUpperCase())
    .replace('whatsapp', 'WhatsApp');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function namesOfSchema() {
  const schema = readFileSync('schema/schema.graphql', 'utf8').replace(/"""[\s\S]*?"""/g, '');
  return ENUMS.split(' ').flatMap((name) => {
    const values = new RegExp(`^enum ${name} {([^}]*)}`, 'm').exec(schema)?.[1];
    if (values === undefined) throw new Error(`the schema has no enum ${name}`);
    return values.match(/[A-Z_]+/g);
  });
}

/** The source files of the console, by their path in src/console. */
export function sources() {
  return readdirSync(ROOT, { recursive: true })
    .filter((name) => /\.tsx?$/.test(name) && !name.endsWith('.generated.ts'))
    .sort();
}

/** Parses a source file of the console. */
export const parsed = (name) =>
  parseSync(readFileSync(`${ROOT}/${name}`, 'utf8'), { syntax: 'typescript', tsx: name.endsWith('.tsx') });

/** Calls `visit` for each node of a syntax tree and its parents, the nearest first. */
export function walk(node, visit, parents = []) {
  if (Array.isArray(node)) for (const each of node) walk(each, visit, parents);
  else if (node !== null && typeof node === 'object') {
    const isNode = typeof node.type === 'string';
    if (isNode) visit(node, parents);
    for (const each of Object.values(node)) walk(each, visit, isNode ? [node, ...parents] : parents);
  }
}

/**
 * Returns every text in the source, with the names of the values and elements that it gets. Throws if `t` or `T` gets a
 * text that is not written out.
 */
export function textsOf(name) {
  const found = [];
  const add = (node, given) => {
    if (node?.type === 'StringLiteral') found.push({ text: node.value, given });
    else if (node?.type === 'ConditionalExpression') {
      add(node.consequent, given);
      add(node.alternate, given);
    } else if (node?.type === 'JSXExpressionContainer' || node?.type === 'ParenthesisExpression') {
      add(node.expression, given);
    } else throw new Error(`${name}: a text of t or T is not written out`);
  };
  walk(parsed(name), (node) => {
    if (node.type === 'CallExpression' && node.callee.value === 't') {
      const values = node.arguments[1]?.expression;
      // `undefined`: an object that is made elsewhere.
      const given =
        values === undefined
          ? []
          : values.type === 'ObjectExpression' &&
              values.properties.every(({ type }) => type !== 'SpreadElement')
            ? values.properties.map((each) =>
                each.value && each.type === 'Identifier' ? each.value : each.key.value,
              )
            : undefined;
      add(node.arguments[0].expression, given);
    }
    if (node.type === 'JSXOpeningElement' && node.name.value === 'T') {
      const attributes = node.attributes.map((each) => [each.name.value, each.value]);
      const given = attributes.map(([key]) => key).filter((key) => key !== 'text' && key !== 'key');
      add(attributes.find(([key]) => key === 'text')?.[1], given);
    }
  });
  return found;
}

/** Returns the source files that the first load of the console has. */
function firstFiles() {
  const files = new Set(['main.tsx']);
  for (const name of files) {
    for (const node of parsed(name).body) {
      const isFile = /^\.{1,2}\/.*(?<!\.generated)\.tsx?$/.test(node.source?.value ?? '');
      if (isFile && !node.typeOnly) files.add(posix.join(posix.dirname(name), node.source.value));
    }
  }
  return files;
}

/** Returns the English texts of the first load, and those of the modules that are loaded later. */
export function englishTexts() {
  const first = firstFiles();
  const texts = { first: new Set([...namesOfSchema(), ...NAMES.split(' ')].map(readable)), pages: new Set() };
  const names = sources().filter((name) => name !== 'lib/words.ts' && name !== 'ui/t.tsx');
  for (const name of names)
    for (const { text } of textsOf(name)) (first.has(name) ? texts.first : texts.pages).add(text);
  const pages = [...texts.pages].filter((text) => !texts.first.has(text));
  return { first: [...texts.first].sort(), pages: pages.sort() };
}

export const catalogueOf = (name) => JSON.parse(readFileSync(`${CATALOGUES}/${name}.json`, 'utf8'));

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { first, pages } = englishTexts();
  for (const language of ['fr', 'sw']) {
    const before = { ...catalogueOf(language), ...catalogueOf(`${language}-pages`) };
    for (const [name, texts] of [
      [language, first],
      [`${language}-pages`, pages],
    ]) {
      const after = Object.fromEntries(texts.map((text) => [text, before[text] ?? '']));
      writeFileSync(`${CATALOGUES}/${name}.json`, `${JSON.stringify(after, null, 2)}\n`);
    }
    const empty = [...first, ...pages].filter((text) => !before[text]);
    console.log(`${language}: ${empty.length} of ${first.length + pages.length} to translate`);
  }
}
