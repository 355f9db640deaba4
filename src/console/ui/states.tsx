import { Component, type ReactNode } from 'react';
import { ApiError } from '../lib/api-error.ts';
import { formatName } from '../lib/format.ts';
import type { ApiQuery } from '../lib/queries.ts';
import { useIsOperator, useViewer } from '../lib/session.tsx';
import { t } from '../lib/words.ts';
import { Button } from './button.tsx';
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
  if (error.code === 'NOT_FOUND') return <EmptyState title={t('Not found')} />;
  return <ErrorState error={error} onRetry={() => void query.refetch()} />;
}

interface PageBoundaryProps {
  readonly children: ReactNode;
  /** The URL path of the page. When it changes, the error is cleared. */
  readonly address: string;
}

/**
 * Catches errors of a page. Example: the page's chunk cannot be loaded, because a new version of the console replaced
 * it.
 */
export class PageBoundary extends Component<PageBoundaryProps, { error?: Error | undefined }> {
  override state: { error?: Error | undefined } = {};
  static getDerivedStateFromError(error: Error) {
    return { error };
  }
  override componentDidUpdate({ address }: PageBoundaryProps) {
    if (this.state.error && address !== this.props.address) this.setState({ error: undefined });
  }
  override render() {
    if (!this.state.error) return this.props.children;
    return <ErrorState error={this.state.error} onRetry={() => location.reload()} />;
  }
}
