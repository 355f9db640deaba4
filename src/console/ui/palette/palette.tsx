import { Command } from 'cmdk';
import { Search as SearchIcon } from 'lucide-react';
import { useDeferredValue, useEffect, useState } from 'react';
import { useLocation } from 'wouter';
import { useInEnvironment } from '../../lib/environment.ts';
import { useApiQuery } from '../../lib/queries.ts';
import { usePermission } from '../../lib/session.tsx';
import { t } from '../../lib/words.ts';
import { Badge } from '../badge.tsx';
import { Dialog } from '../dialog.tsx';
import { NavIcon, type NavItem } from '../nav-icon.tsx';
import { Time } from '../values.tsx';
import { type Result, resultOf } from './results.ts';
import { Search } from './search.generated.ts';
import './palette.css';

/** How long a person must pause before their text is searched, in ms. */
const PAUSE_MS = 200;
const MIN_LENGTH = 2;
const LOOK_UP_MIN_LENGTH = 4;

/** The search of the whole account, and of the pages of the console. Results appear while the person types. */
export default function Palette({
  pages,
  maySearch,
  onClose,
}: {
  pages: readonly NavItem[];
  maySearch: boolean;
  onClose: () => void;
}) {
  const [typed, setTyped] = useState('');
  const text = usePaused(typed.trim());
  const [, navigate] = useLocation();
  const inEnvironment = useInEnvironment();
  const mayLookUp = usePermission('platform.lookUp');
  const isAsked = maySearch && text.length >= MIN_LENGTH;
  const query = useApiQuery(Search, { text }, { isEnabled: isAsked, keepsLast: true });
  const found = useDeferredValue(isAsked ? (query.data?.search ?? []) : []);
  const results = found.flatMap((each) => (each && resultOf(each)) ?? []);
  const matching = pages.filter(({ title }) => title.toLowerCase().includes(typed.trim().toLowerCase()));
  const isWaiting =
    maySearch && typed.trim().length >= MIN_LENGTH && (text !== typed.trim() || query.isFetching);
  const open = (href: string, state?: object) => {
    onClose();
    navigate(href, { state });
  };
  return (
    <Dialog title={t('Search')} look="palette" onClose={onClose}>
      <Command label={t('Search')} shouldFilter={false} className="palette" loop>
        <div className="palette-field">
          <SearchIcon className="icon" aria-hidden="true" />
          <Command.Input
            value={typed}
            onValueChange={setTyped}
            maxLength={100}
            placeholder={placeholderOf(maySearch, mayLookUp)}
          />
        </div>
        <Command.List className="palette-list">
          {results.length > 0 && (
            <Command.Group heading={t('Found')}>
              {results.map((result) => (
                <Command.Item key={result.id} value={result.id} onSelect={() => open(result.href)}>
                  <ResultRow of={result} />
                </Command.Item>
              ))}
            </Command.Group>
          )}
          {isAsked && (
            <Command.Group heading={t('Messages')}>
              <Command.Item
                value="all-messages"
                onSelect={() => open(inEnvironment(`/messages?${new URLSearchParams({ search: text })}`))}
              >
                <NavIcon path="/messages" />
                {t('All messages with “{text}”', { text })}
              </Command.Item>
            </Command.Group>
          )}
          {mayLookUp && text.length >= LOOK_UP_MIN_LENGTH && (
            // Each look-up is audited, so it is made when it is chosen and not while the person types.
            <Command.Group heading={t('All accounts')}>
              <Command.Item value="look-up" onSelect={() => open('/look-up', { lookUp: text })}>
                <NavIcon path="/look-up" />
                {t('Look up “{text}” in all accounts', { text })}
              </Command.Item>
            </Command.Group>
          )}
          {matching.length > 0 && (
            <Command.Group heading={t('Pages')}>
              {matching.map(({ path, title, isOutside }) => (
                <Command.Item
                  key={path}
                  value={path}
                  onSelect={() => (isOutside ? location.assign(path) : open(inEnvironment(path)))}
                >
                  <NavIcon path={path} />
                  {title}
                </Command.Item>
              ))}
            </Command.Group>
          )}
        </Command.List>
        <p className="palette-state" role="status">
          {stateOf({ isAsked, isWaiting, error: query.error?.message, count: results.length })}
        </p>
      </Command>
    </Dialog>
  );
}

function placeholderOf(maySearch: boolean, mayLookUp: boolean): string {
  if (maySearch) return t('Number, id, email, name or text');
  return mayLookUp ? t('Number or id of a message, or a page') : t('Name of a page');
}

function stateOf(of: {
  isAsked: boolean;
  isWaiting: boolean;
  error: string | undefined;
  count: number;
}): string {
  if (of.isWaiting) return t('Searching…');
  if (!of.isAsked) return '';
  if (of.error !== undefined) return of.error;
  if (of.count === 0) return t('Nothing found. Numbers may be written in any way; an id must be whole.');
  return t('{count} found', { count: of.count });
}

function ResultRow({ of: { kind, title, detail, status, words, at } }: { of: Result }) {
  return (
    <>
      <span className="palette-kind">{kind}</span>
      <span className="palette-what">
        <span className="palette-title">{title}</span>
        <span className="palette-detail">{detail}</span>
      </span>
      <span className="palette-end">
        {status && <Badge status={status}>{words}</Badge>}
        {at && (
          <span className="palette-detail">
            <Time at={at} />
          </span>
        )}
      </span>
    </>
  );
}

/** Returns `value` after it has not changed for a moment. */
function usePaused(value: string): string {
  const [paused, setPaused] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setPaused(value), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [value]);
  return paused;
}
