import { type ReactNode, useId, useState } from 'react';
import './file-drop.css';

/** A field for one file. The person chooses it or drops it here. */
export function FileDrop({
  label,
  accept,
  hint,
  onFile,
}: {
  label: string;
  accept: string;
  hint: ReactNode;
  onFile: (file: File) => void;
}) {
  const id = useId();
  const [isOver, setIsOver] = useState(false);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is for the pointer; the input is for everybody
    <div
      className="file-drop"
      data-over={isOver}
      onDragOver={(event) => {
        event.preventDefault();
        setIsOver(true);
      }}
      onDragLeave={() => setIsOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setIsOver(false);
        const file = event.dataTransfer.files[0];
        if (file) onFile(file);
      }}
    >
      <label htmlFor={id}>{label}</label>
      <span id={`${id}-hint`} className="field-hint">
        {hint}
      </span>
      <input
        id={id}
        type="file"
        accept={accept}
        aria-describedby={`${id}-hint`}
        onChange={({ currentTarget }) => {
          const file = currentTarget.files?.[0];
          if (file) onFile(file);
          // Without this, choosing the same file again fires no event, although the file may have changed.
          currentTarget.value = '';
        }}
      />
    </div>
  );
}
