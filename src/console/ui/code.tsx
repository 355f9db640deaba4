import { Check, Copy } from 'lucide-react';
import { useEffect, useState } from 'react';
import { t } from '../lib/words.ts';
import { Button } from './button.tsx';
import './code.css';

const TOLD_MS = 3_000;

/** Returns a function that copies `text` to the clipboard, and for some seconds whether that worked (`words`). */
function useCopy(text: string): {
  readonly words: string;
  readonly isCopied: boolean;
  readonly copy: () => Promise<void>;
} {
  const [told, setTold] = useState<boolean>();
  useEffect(() => {
    if (told === undefined) return;
    const timer = setTimeout(() => setTold(undefined), TOLD_MS);
    return () => clearTimeout(timer);
  }, [told]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setTold(true);
    } catch {
      setTold(false);
    }
  };
  const words = told ? t('Copied') : t('Cannot copy here');
  return { words: told === undefined ? t('Copy') : words, isCopied: told === true, copy };
}

/** Copies `text` to the clipboard and says whether that worked. */
function CopyButton({ text, label }: { text: string; label: string }) {
  const { words, copy } = useCopy(text);
  return (
    <Button onClick={copy}>
      <span aria-live="polite">
        {words}
        <span className="visually-hidden"> {label}</span>
      </span>
    </Button>
  );
}

/** Shows code or a secret with a copy button. `label` is its accessible name. */
export function CodeBlock({ text, label }: { text: string; label: string }) {
  return (
    <figure className="code-block" aria-label={label}>
      <pre>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label={label} />
    </figure>
  );
}

/** Number of characters at the end of an id that are always visible. Ids that were made at one time differ there. */
const ID_END = 6;

/**
 * An id on one line with a button that copies it. If there is too little room, its middle is not visible. `label` is
 * what the id names, such as `Webhook id`.
 */
export function Id({ of, label }: { of: string; label: string }) {
  const { words, isCopied, copy } = useCopy(of);
  return (
    <span className="id">
      <code title={of}>
        <span className="id-start">{of.slice(0, -ID_END)}</span>
        <span>{of.slice(-ID_END)}</span>
      </code>
      <button type="button" className="id-copy" title={words} onClick={copy}>
        {isCopied ? <Check aria-hidden="true" /> : <Copy aria-hidden="true" />}
        <span className="visually-hidden" aria-live="polite">
          {words} {label}
        </span>
      </button>
    </span>
  );
}

/** Shows a text of the API, which has names and values between backticks. */
export function WithCode({ text }: { text: string }) {
  return [...text.matchAll(/`([^`]*)`|[^`]+/g)].map(({ index: start, 0: words, 1: name }) =>
    name === undefined ? words : <code key={start}>{name}</code>,
  );
}
