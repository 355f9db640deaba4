import { type ReactNode, useLayoutEffect, useRef } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import { Button, ButtonLink } from './button.tsx';
import { localTime } from './form.tsx';
import './filters.css';

type Control = HTMLInputElement | HTMLSelectElement;

/** What the list's address narrows it to under `name`; null for nothing. */
export function useFilter(name: string): string | null {
  return useSearchParams()[0].get(name);
}

/**
 * The fields that narrow a list: what they hold goes into the address, so that it can be kept, shared and gone back
 * to, and comes from there; times as ISO 8601. A choice holds at once, what is typed when it is asked for.
 */
export function Filters({ label, children }: { label: string; children: ReactNode }) {
  const [params] = useSearchParams();
  const [path, navigate] = useLocation();
  const form = useRef<HTMLFormElement>(null);
  useLayoutEffect(() => {
    for (const control of controlsOf(form.current)) {
      const value = params.get(control.name) ?? '';
      control.value = control.type === 'datetime-local' ? localTime(value || null) : value;
    }
  }, [params]);
  const apply = () => {
    const next = new URLSearchParams();
    for (const { name, value, type } of controlsOf(form.current)) {
      const text = value.trim();
      if (text !== '') next.set(name, type === 'datetime-local' ? new Date(text).toISOString() : text);
    }
    navigate(next.size === 0 ? path : `${path}?${next}`);
  };
  return (
    <search aria-label={label}>
      <form
        ref={form}
        className="filters"
        noValidate
        onChange={({ target }) => {
          if (target instanceof HTMLSelectElement) apply();
        }}
        onSubmit={(event) => {
          event.preventDefault();
          apply();
        }}
      >
        {children}
        <div className="row">
          <Button type="submit">Search</Button>
          {params.size > 0 && (
            <ButtonLink look="quiet" href={path}>
              Clear
            </ButtonLink>
          )}
        </div>
      </form>
    </search>
  );
}

function controlsOf(form: HTMLFormElement | null): readonly Control[] {
  return [...(form?.elements ?? [])].filter(
    (each): each is Control =>
      (each instanceof HTMLInputElement || each instanceof HTMLSelectElement) && each.name !== '',
  );
}
