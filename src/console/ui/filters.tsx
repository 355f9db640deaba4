import { Children, type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import { useInEnvironment, useNarrowing } from '../lib/environment.ts';
import { isoOf, localTime } from '../lib/local-time.ts';
import { t } from '../lib/words.ts';
import { Button, ButtonLink } from './button.tsx';
import { Form } from './form.tsx';
import './filters.css';

type Control = HTMLInputElement | HTMLSelectElement;

/** Returns the filter `name` in the URL, or null. */
export function useFilter(name: string): string | null {
  return useSearchParams()[0].get(name);
}

/** Returns the time filter `name` in the URL as ISO 8601, or null if it is absent or invalid. */
export function useTimeFilter(name: string): string | null {
  return isoOf(useFilter(name) ?? '');
}

/**
 * The filter fields of a list. The URL holds their values (times as ISO 8601), so that a filtered list can be
 * bookmarked and shared. Selects apply at once, typed values on submit. On phones, more than two fields are behind a
 * button, so that the list is on the first screen.
 */
export function Filters({ label, children }: { label: string; children: ReactNode }) {
  const [params] = useSearchParams();
  const [path, navigate] = useLocation();
  const inEnvironment = useInEnvironment();
  const isNarrowed = useNarrowing().size > 0;
  const isFoldable = Children.toArray(children).length > 2;
  const [isOpen, setIsOpen] = useState(isNarrowed);
  const box = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const form = box.current?.querySelector('form');
    // The reset clears incomplete dates: their value is already '', so the assignment below would not change them.
    form?.reset();
    for (const control of controlsOf(form)) {
      const value = params.get(control.name) ?? '';
      control.value = control.type === 'datetime-local' ? localTime(value) : value;
    }
  }, [params]);
  const apply = () => {
    const next = new URLSearchParams();
    for (const { name, value, type } of controlsOf(box.current?.querySelector('form'))) {
      const text = type === 'datetime-local' ? (isoOf(value) ?? '') : value.trim();
      if (text !== '') next.set(name, text);
    }
    navigate(inEnvironment(next.size === 0 ? path : `${path}?${next}`));
  };
  return (
    <search ref={box} aria-label={label}>
      {isFoldable && (
        <Button className="filters-toggle" aria-expanded={isOpen} onClick={() => setIsOpen(!isOpen)}>
          {t('Filters')}
        </Button>
      )}
      <Form
        className={isFoldable && !isOpen ? 'filters is-folded' : 'filters'}
        label={label}
        onChange={({ target }) => {
          if (target instanceof HTMLSelectElement) target.form?.requestSubmit();
        }}
        onSubmit={apply}
      >
        {children}
        <div className="row">
          <Button type="submit">{t('Search')}</Button>
          {isNarrowed && (
            <ButtonLink look="quiet" href={path}>
              {t('Clear')}
            </ButtonLink>
          )}
        </div>
      </Form>
    </search>
  );
}

function controlsOf(form: HTMLFormElement | null | undefined): readonly Control[] {
  return [...(form?.elements ?? [])].filter(
    (each): each is Control =>
      (each instanceof HTMLInputElement || each instanceof HTMLSelectElement) && each.name !== '',
  );
}
