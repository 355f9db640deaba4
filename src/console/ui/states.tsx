import { Component, type ReactNode } from 'react';
import { ApiError } from '../lib/api-error.ts';
import { formatName } from '../lib/format.ts';
import type { ApiQuery } from '../lib/queries.ts';
import { useIsOperator, useViewer } from '../lib/session.tsx';
import { Button } from './button.tsx';
import './states.css';

/** Shown for an empty list, with what to do next. */
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
      <p className="visually-hidden">Loading</p>
    </div>
  );
}

/** An error, with the id of the request if the gateway sent one. */
export function ErrorState({ error, onRetry }: { error: Error; onRetry: () => void }) {
  const requestId = error instanceof ApiError && !error.isLostConnection ? error.requestId : undefined;
  return (
    <div className="state" role="alert">
      <h2>This could not be loaded</h2>
      <p>{error.message}</p>
      {requestId && (
        <p className="quiet">
          Request <code>{requestId}</code>
        </p>
      )}
      <Button onClick={onRetry}>Try again</Button>
    </div>
  );
}

/** Shown on a page, or for an action, that the person's role does not allow. */
export function NoPermission({ what, isForOperators = false }: { what: string; isForOperators?: boolean }) {
  const { role } = useViewer();
  const isOperator = useIsOperator();
  const whoCan = isForOperators
    ? 'It is for operators, who stand above accounts; no role of an account includes it.'
    : 'An owner or admin of the account can change roles.';
  return (
    <EmptyState title="Not for your role">
      <p>
        Your role, {formatName(role)}, cannot {what}.{' '}
        {isOperator ? 'Operators stand above accounts; what is inside one is for its members.' : whoCan}
      </p>
    </EmptyState>
  );
}

/** Renders the answer of a query, or its loading or error state. */
export function Loaded<Result>({
  query,
  children,
}: {
  query: ApiQuery<Result>;
  children: (data: NonNullable<ApiQuery<Result>['data']>) => ReactNode;
}) {
  const { data, error } = query;
  // The sign-in over the page then loads the answer.
  const isSignedOut = error?.code === 'UNAUTHENTICATED';
  // An answer from before an outage stays on the page; the banner says that it may be old.
  if (data && (!error || error.passes || isSignedOut)) return children(data);
  if (!error || isSignedOut) return <Loading />;
  if (error.code === 'FORBIDDEN') return <NoPermission what="see this" />;
  if (error.code === 'NOT_FOUND') return <EmptyState title="Not found" />;
  return <ErrorState error={error} onRetry={() => void query.refetch()} />;
}

interface PageBoundaryProps {
  readonly children: ReactNode;
  /** Address of the page. An error at one address does not stay at another. */
  readonly address: string;
}

/** Catches errors of a page, such as a chunk of the console that a new version has replaced. */
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
