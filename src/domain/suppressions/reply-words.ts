/**
 * Replies with which recipients stop messages, start them again or ask for help, in English, Luganda, Swahili and
 * French.
 */
const WORDS = {
  stop: [
    'STOP STOPALL UNSUBSCRIBE CANCEL END QUIT',
    'YIMIRIZA LEKERAAWO KOMYA',
    'ACHA SIMAMA SIMAMISHA KOMESHA SITISHA ONDOA KOMA',
    'ARRET ARRETER ARRETEZ DESABONNER DESINSCRIRE',
  ],
  start: ['START UNSTOP SUBSCRIBE', 'TANDIKA', 'ANZA', 'COMMENCER REPRENDRE'],
  help: ['HELP INFO', 'NYAMBA', 'MSAADA SAIDIA', 'AIDE'],
} as const;
export type ReplyWord = keyof typeof WORDS;

const MEANING = new Map<string, ReplyWord>(
  Object.entries(WORDS).flatMap(([meaning, texts]) =>
    texts
      .join(' ')
      .split(' ')
      .map((word) => [word, meaning as ReplyWord] as const),
  ),
);
/** Accents, punctuation, signs such as emoji, spaces and control characters. Letters and digits stay. */
const NO_CHARACTER_OF_A_WORD = /[\p{M}\p{P}\p{S}\p{Z}\p{C}]/gu;
/** A longer text is not one of the words and is ignored. */
const TEXT_MAX = 40;

/**
 * Returns what a reply asks for (R379). Undefined if the reply is anything but one of the words: `CANCEL 4521` is no
 * reply. Case, accents, spaces and punctuation do not matter.
 */
export function replyWord(text: string | null): ReplyWord | undefined {
  if (text === null || text.length > TEXT_MAX) return undefined;
  const word = text.normalize('NFD').replace(NO_CHARACTER_OF_A_WORD, '');
  return MEANING.get(word.toUpperCase());
}
