import { type Part, type Plural, partsOf } from './message-format.ts';

/** The languages of the console, each by its own name. */
export const LANGUAGES = { en: 'English', fr: 'Français', sw: 'Kiswahili' } as const;
export type Language = keyof typeof LANGUAGES;

/** Translations by the English text. */
type Words = Readonly<Record<string, string>>;

/** The name of the chosen language in the storage of the browser. */
export const STORED = 'console-language';

/** English texts of which the key says more, because other languages have different words for their meanings. */
const ENGLISH: Words = { 'By (group)': 'By', 'From (time)': 'From', 'To (time)': 'To' };

type Load = () => Promise<Words>;

/** The words of what every page needs: the frame, the sign-in, names of states and roles. The source is English. */
const FIRST: Readonly<Record<Language, Load>> = {
  en: () => Promise.resolve(ENGLISH),
  fr: () => import('../words/fr.json').then((file) => file.default),
  sw: () => import('../words/sw.json').then((file) => file.default),
};
/** The words of the modules that are loaded later. */
const LATER: Readonly<Record<Language, Load>> = {
  en: () => Promise.resolve({}),
  fr: () => import('../words/fr-pages.json').then((file) => file.default),
  sw: () => import('../words/sw-pages.json').then((file) => file.default),
};

const isLanguage = (tag: string): tag is Language => Object.hasOwn(LANGUAGES, tag);

/**
 * Returns the language to use: the `stored` choice, or else the first language that a person prefers (such as `fr-CD`)
 * and that the console has.
 */
export function languageOf(stored: string | null, preferred: readonly string[]): Language {
  const tags = [stored ?? '', ...preferred.map((each) => each.slice(0, 2).toLowerCase())];
  return tags.find(isLanguage) ?? 'en';
}

/** The language of this page. It changes when the page is loaded again. Outside of a browser, in tests, it is English. */
export const language: Language =
  'location' in globalThis ? languageOf(localStorage.getItem(STORED), navigator.languages) : 'en';

// Modules that import this one wait here, so that even their constants are in the right language.
const words = { ...(await FIRST[language]()) };
let later: Promise<unknown> | undefined;

/** Loads a module that is not part of the first load, after its words. */
export async function withWords<Module>(load: () => Promise<Module>): Promise<Module> {
  later ??= LATER[language]().then((loaded) => Object.assign(words, loaded));
  await later;
  return load();
}

const numbers = new Intl.NumberFormat(language);
const plurals = new Intl.PluralRules(language);

/**
 * Returns a text in the language of the page. `english` is the text in English, and the key of its translations in
 * `src/console/words`; so it is written out at the place of the call, never put together. `{name}` in it stands for a
 * value, `{count, plural, one {# key} other {# keys}}` for the form that fits a number.
 */
export function t(english: string, values: Readonly<Record<string, string | number>> = {}): string {
  return textOf(partsOf(translated(english)), values);
}

/** Returns the parts of a text in the language of the page. `T` makes elements of them. */
export function translated(english: string): string {
  // A text without a translation is shown in English. A test finds it.
  return words[english] || english;
}

function textOf(parts: readonly Part[], values: Readonly<Record<string, string | number>>): string {
  return parts
    .map((part) => {
      if (typeof part === 'string') return part;
      if ('tag' in part) return textOf(part.inside, values);
      if ('plural' in part) return textOf(formOf(part, values[part.plural]), values);
      const value = values[part.value] ?? '';
      return typeof value === 'number' ? numbers.format(value) : value;
    })
    .join('');
}

/** Returns the form of a plural for a number, as the grammar of the language has it. */
export function formOf({ forms }: Plural, number: unknown): readonly Part[] {
  return forms[`=${number}`] ?? forms[plurals.select(Number(number))] ?? forms.other ?? [];
}
