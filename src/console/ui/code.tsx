import { Check, Copy } from 'lucide-react';
import { useEffect, useState } from 'react';
import { Button } from './button.tsx';
import './code.css';

const TOLD_MS = 3_000;

type Told = 'Copied' | 'Cannot copy here';

/** Returns a function that copies `text` to the clipboard, and for some seconds what to tell about it. */
function useCopy(text: string): { readonly told: Told | undefined; readonly copy: () => Promise<void> } {
  const [told, setTold] = useState<Told>();
  useEffect(() => {
    if (!told) return;
    const timer = setTimeout(() => setTold(undefined), TOLD_MS);
    return () => clearTimeout(timer);
  }, [told]);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setTold('Copied');
    } catch {
      setTold('Cannot copy here');
    }
  };
  return { told, copy };
}

/** Copies `text` to the clipboard and says whether that worked. */
function CopyButton({ text, label }: { text: string; label: string }) {
  const { told, copy } = useCopy(text);
  return (
    <Button onClick={copy}>
      <span aria-live="polite">
        {told ?? 'Copy'}
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
  const { told, copy } = useCopy(of);
  return (
    <span className="id">
      <code title={of}>
        <span className="id-start">{of.slice(0, -ID_END)}</span>
        <span>{of.slice(-ID_END)}</span>
      </code>
      <button type="button" className="id-copy" title={told ?? 'Copy'} onClick={copy}>
        {told === 'Copied' ? <Check aria-hidden="true" /> : <Copy aria-hidden="true" />}
        <span className="visually-hidden" aria-live="polite">
          {told ?? 'Copy'} {label}
        </span>
      </button>
    </span>
  );
}
