import { useEffect, useState } from 'react';
import { Button } from './button.tsx';
import './code.css';

const TOLD_MS = 3_000;

/** Copies `text` to the clipboard and says whether that worked. */
function CopyButton({ text, label }: { text: string; label: string }) {
  const [told, setTold] = useState<'Copied' | 'Cannot copy here'>();
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
