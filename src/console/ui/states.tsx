import { Component, type ReactNode } from 'react';
import { useLocation } from 'wouter';
import { ApiError } from '../lib/api-error.ts';
import { connectionLost, whenRestored } from '../lib/connection.ts';
import { formatName } from '../lib/format.ts';
import type { ApiQuery } from '../lib/queries.ts';
import { useIsOperator, useViewer } from '../lib/session.tsx';
import { t } from '../lib/words.ts';
import { Button, ButtonLink } from './button.tsx';
import { T } from './t.tsx';
import './states.css';

/** Shown instead of an empty list. The children say what to do next. */
export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="state">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** Shown for a path of the console that has no page. */
export function NoSuchPage() {
  return (
    <EmptyState title={t('There is no such page')}>
      <p>{t('The address is wrong or old. Choose a page in the menu, or search for what you need.')}</p>
      <ButtonLink href="/">{t('Go to the overview')}</ButtonLink>
    </EmptyState>
  );
}

/** Shown for an object that does not exist. Leads to the list that the object would be in. */
function NotFound() {
  const list = `/${useLocation()[0].split('/')[1] ?? ''}`;
  return (
    <EmptyState title={t('Not found')}>
      <p>{t('It was deleted, its time to be kept is over, or the address is wrong.')}</p>
      <ButtonLink href={list}>{list === '/' ? t('Go to the overview') : t('Show the list')}</ButtonLink>
    </EmptyState>
  );
}

export function Loading() {
  return (
    <div className="skeleton" role="status">
      <span />
      <span />
      <span />
      <p className="visually-hidden">{t('Loading')}</p>
    </div>
  );
}

/** Shows an error with a retry button, and with the request id if the gateway sent one. */
export function ErrorState({ error, onRetry }: { error: Error; onRetry: () => void }) {
  const requestId = error instanceof ApiError && !error.isLostConnection ? error.requestId : undefined;
  return (
    <div className="state" role="alert">
      <h2>{t('This could not be loaded')}</h2>
      <p>{error.message}</p>
      {requestId && (
        <p className="quiet">
          <T text="Request {requestId}" requestId={<code>{requestId}</code>} />
        </p>
      )}
      <Button onClick={onRetry}>{t('Try again')}</Button>
    </div>
  );
}

/** Says that the person's role does not allow the page or the action `what`. */
export function NoPermission({
  what,
  isForOperators = false,
}: {
  what: 'open' | 'see';
  isForOperators?: boolean;
}) {
  const { role } = useViewer();
  const isOperator = useIsOperator();
  const whoCan = isForOperators
    ? t('It is for operators, who stand above accounts; no role of an account includes it.')
    : t('An owner or admin of the account can change roles.');
  return (
    <EmptyState title={t('Not for your role')}>
      <p>
        {what === 'open'
          ? t('Your role, {role}, cannot open this page.', { role: formatName(role) })
          : t('Your role, {role}, cannot see this.', { role: formatName(role) })}{' '}
        {isOperator ? t('Operators stand above accounts; what is inside one is for its members.') : whoCan}
      </p>
    </EmptyState>
  );
}

/** Renders the result of a query, or its loading or error state. */
export function Loaded<Result>({
  query,
  children,
}: {
  query: ApiQuery<Result>;
  children: (data: NonNullable<ApiQuery<Result>['data']>) => ReactNode;
}) {
  const { data, error } = query;
  // The sign-in dialog covers the page. The query runs again after the sign-in.
  const isSignedOut = error?.code === 'UNAUTHENTICATED';
  // During an outage the page keeps its old data. The banner says that it may be outdated.
  if (data && (!error || error.passes || isSignedOut)) return children(data);
  if (!error || isSignedOut) return <Loading />;
  if (error.code === 'FORBIDDEN') return <NoPermission what="see" />;
  if (error.code === 'NOT_FOUND') return <NotFound />;
  return <ErrorState error={error} onRetry={() => void query.refetch()} />;
}

interface PageBoundaryProps {
  readonly children: ReactNode;
  /** The URL path of the page. When it changes, the error is cleared. */
  readonly address: string;
}

/** What browsers say when the script of a page cannot be loaded. */
const NOT_LOADED = /dynamically imported module|importing a module|module script failed|unable to preload/i;
/** When the console last reloaded itself, in ms. It does not do so again within a minute. */
const RELOADED_AT = 'console-reloaded-at';
const RELOAD_EVERY_MS = 60_000;

/**
 * Catches errors of a page. If the page's script could not be loaded, because the browser was offline or a new version
 * of the console replaced it, the console reloads itself as soon as the gateway answers.
 */
export class PageBoundary extends Component<PageBoundaryProps, { error?: Error | undefined }> {
  override state: { error?: Error | undefined } = {};
  static getDerivedStateFromError(error: Error) {
    return { error };
  }
  #stop = () => {};
  override componentDidCatch(error: Error) {
    if (!NOT_LOADED.test(error.message)) return;
    this.#stop();
    this.#stop = whenRestored(reloadOnce);
    connectionLost();
  }
  override componentWillUnmount() {
    this.#stop();
  }
  override componentDidUpdate({ address }: PageBoundaryProps) {
    if (!this.state.error || address === this.props.address) return;
    this.#stop();
    this.setState({ error: undefined });
  }
  override render() {
    if (!this.state.error) return this.props.children;
    return <ErrorState error={this.state.error} onRetry={() => location.reload()} />;
  }
}

/** A script that stays missing must not make the console reload for ever. */
function reloadOnce(): void {
  const last = Number(sessionStorage.getItem(RELOADED_AT) ?? 0);
  if (Date.now() - last < RELOAD_EVERY_MS) return;
  sessionStorage.setItem(RELOADED_AT, String(Date.now()));
  location.reload();
}
