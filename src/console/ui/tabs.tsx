import { type KeyboardEvent, type ReactNode, useId, useState } from 'react';
import './tabs.css';

interface Tab {
  readonly label: string;
  readonly content: ReactNode;
}

/**
 * Tabs with the keys of the ARIA tabs pattern: arrows, Home and End. Only the chosen tab is rendered. With `keepsAll`
 * the other tabs stay in the page, hidden, so that they keep their input.
 */
export function Tabs({
  label,
  tabs,
  initial = 0,
  keepsAll = false,
}: {
  label: string;
  tabs: readonly Tab[];
  initial?: number;
  keepsAll?: boolean;
}) {
  const [chosen, setChosen] = useState(initial);
  const id = useId();
  const onKeyDown = (event: KeyboardEvent<HTMLDivElement>) => {
    const steps: Record<string, number> = {
      ArrowRight: chosen + 1,
      ArrowLeft: chosen - 1,
      Home: 0,
      End: tabs.length - 1,
    };
    const step = steps[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = (step + tabs.length) % tabs.length;
    setChosen(next);
    document.getElementById(`${id}-${next}`)?.focus();
  };
  return (
    <div className="stack">
      <div className="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {tabs.map((tab, index) => (
          <button
            key={tab.label}
            type="button"
            className="tab"
            role="tab"
            id={`${id}-${index}`}
            aria-selected={index === chosen}
            aria-controls={keepsAll || index === chosen ? `${id}-panel-${index}` : undefined}
            tabIndex={index === chosen ? 0 : -1}
            onClick={() => setChosen(index)}
          >
            {tab.label}
          </button>
        ))}
      </div>
      {tabs.map(
        (tab, index) =>
          (keepsAll || index === chosen) && (
            <div
              key={tab.label}
              role="tabpanel"
              id={`${id}-panel-${index}`}
              aria-labelledby={`${id}-${index}`}
              hidden={index !== chosen}
            >
              {tab.content}
            </div>
          ),
      )}
    </div>
  );
}
