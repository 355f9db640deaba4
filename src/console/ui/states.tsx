import { Component, type ReactNode } from 'react';
import { ApiError } from '../lib/api-error.ts';
import { formatName } from '../lib/format.ts';
import type { ApiQuery } from '../lib/queries.ts';
import { useViewer } from '../lib/session.tsx';
import { Button } from './button.tsx';
import './states.css';

/** Nothing is there yet, and what to do about it. */
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

/** What went wrong, with the request's id where the gateway gave one. */
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

/** For a page or an act that is not for the role of whoever is signed in. */
export function NoPermission({ what, isForOperators = false }: { what: string; isForOperators?: boolean }) {
  const { role } = useViewer();
  const whoCan = isForOperators
    ? 'It is for operators, who stand above accounts; no role of an account includes it.'
    : 'An owner or admin of the account can change roles.';
  return (
    <EmptyState title="Not for your role">
      <p>
        Your role, {formatName(role)}, cannot {what}.{' '}
        {role === 'OPERATOR'
          ? 'Operators stand above accounts; what is inside one is for its members.'
          : whoCan}
      </p>
    </EmptyState>
  );
}

/** What a query answered, once it did; until then loading, or why it cannot be shown. */
export function Loaded<Result>({
  query,
  children,
}: {
  query: ApiQuery<Result>;
  children: (data: NonNullable<ApiQuery<Result>['data']>) => ReactNode;
}) {
  const { data, error } = query;
  // The sign-in that stands over the page then brings the answer.
  const isSignedOut = error?.code === 'UNAUTHENTICATED';
  // An answer from before a lost connection is still worth reading; the banner says that it is old.
  if (data && (!error || error.passes || isSignedOut)) return children(data);
  if (!error || isSignedOut) return <Loading />;
  if (error.code === 'FORBIDDEN') return <NoPermission what="see this" />;
  if (error.code === 'NOT_FOUND') return <EmptyState title="Not found" />;
  return <ErrorState error={error} onRetry={() => void query.refetch()} />;
}

interface PageBoundaryProps {
  readonly children: ReactNode;
  /** Where the page is; what it threw at one address is no fault of another. */
  readonly address: string;
}

/** Catches what a page throws, such as a part of the console that a new version has replaced. */
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
