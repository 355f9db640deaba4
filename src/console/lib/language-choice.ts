import { type Language, STORED } from './words.ts';

/** Stores the choice of a language in this browser, and loads the page again in it. */
export function chooseLanguage(chosen: Language): void {
  localStorage.setItem(STORED, chosen);
  location.reload();
}
