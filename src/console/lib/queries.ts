import {
  keepPreviousData,
  type MutateOptions,
  notifyManager,
  QueryClient,
  type QueryFilters,
  type QueryKey,
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
} from '@tanstack/react-query';
import { useRef, useSyncExternalStore } from 'react';
import type { ApiError } from './api-error.ts';
import type { Complete, Document, Query } from './document.ts';
import { request } from './request.ts';

const FRESH_MS = 2_000;

// Queries that are answered together are shown together. By default each is shown in a task of its own, and parts of a
// page would move when the next one comes.
notifyManager.setScheduler(queueMicrotask);

/** The cache of all query results. A failed query is not retried, but it runs again after an outage. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { retry: false, staleTime: FRESH_MS, networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always' },
  },
});

export type AnyDocument = Pick<Document<never, never>, 'name'>;

/** Returns the cache key of a query. Without `variables`, the key matches the query with any variables. */
export const keyOf = (document: AnyDocument, variables?: unknown): QueryKey =>
  variables === undefined ? [document.name] : [document.name, variables];

/** Refetches these queries, with any variables. */
export async function refetch(...documents: readonly AnyDocument[]): Promise<void> {
  await Promise.all(documents.map((each) => askAgain({ queryKey: keyOf(each) })));
}

/**
 * Refetches all mounted queries, or those that match `filter`. The result of a query in flight may be older than the
 * change, so that query runs once more after it.
 */
export async function askAgain(filter: QueryFilters = {}): Promise<void> {
  const isOnItsWay = new Set(queryClient.getQueryCache().findAll({ ...filter, fetchStatus: 'fetching' }));
  await queryClient.invalidateQueries(filter, { cancelRefetch: false });
  await queryClient.invalidateQueries(
    { predicate: (query) => isOnItsWay.has(query) },
    { cancelRefetch: false },
  );
}

/**
 * Minimum time between two refetches of all queries, in ms. A page has several streams, and each may report missed
 * events every second.
 */
const AGAIN_EVERY_MS = 2_000;
let isAgainDue = false;

/** Refetches all mounted queries after a delay. Further calls during the delay have no effect. */
export function askAgainSoon(): void {
  if (isAgainDue) return;
  isAgainDue = true;
  setTimeout(() => {
    isAgainDue = false;
    void askAgain();
  }, AGAIN_EVERY_MS);
}

export type ApiQuery<Result> = UseQueryResult<Complete<Result>, ApiError>;

/**
 * Runs a query and returns its state. With `keepsLast`, meant for lists, the old result stays until the result for new
 * variables arrives.
 */
export function useApiQuery<Result, Variables>(
  document: Query<Result, Variables>,
  variables: Variables,
  options: {
    readonly isEnabled?: boolean;
    readonly refetchEveryMs?: number;
    readonly keepsLast?: boolean;
    /** Asks in a call of its own, for what may take longer than the rest of the page should wait. */
    readonly isApart?: boolean;
  } = {},
): ApiQuery<Result> {
  return useQuery<Complete<Result>, ApiError>({
    queryKey: keyOf(document, variables),
    queryFn: ({ signal }) => request(document, variables, { signal, isApart: options.isApart ?? false }),
    ...(options.keepsLast ? { placeholderData: keepPreviousData } : {}),
    enabled: options.isEnabled ?? true,
    refetchInterval: options.refetchEveryMs ?? false,
  });
}

/** True once one of these queries has an answer or an error, with any variables. */
export function useIsAnswered(documents: readonly AnyDocument[]): boolean {
  return useSyncExternalStore(onChange, () =>
    documents.some((each) =>
      queryClient
        .getQueryCache()
        .findAll({ queryKey: keyOf(each) })
        .some(({ state }) => state.status !== 'pending'),
    ),
  );
}

const onChange = (listener: () => void) => queryClient.getQueryCache().subscribe(listener);

type MutationOf<Result, Variables> = UseMutationResult<Complete<Result>, ApiError, Variables>;
type Callbacks<Result, Variables> = MutateOptions<Complete<Result>, ApiError, Variables>;

export interface ApiMutation<Result, Variables>
  extends Pick<MutationOf<Result, Variables>, 'data' | 'error' | 'isPending' | 'variables' | 'reset'> {
  /** Runs the mutation. A failure is only in `error`. */
  mutate(variables: Variables, callbacks?: Callbacks<Result, Variables>): void;
  /** Runs the mutation. Rejects with `ApiError` on failure. */
  mutateAsync(variables: Variables, callbacks?: Callbacks<Result, Variables>): Promise<Complete<Result>>;
  /**
   * Runs the mutation after the one in progress, and never drops the call. Meant for an undo. Rejects with `ApiError`.
   */
  mutateNext(variables: Variables, callbacks?: Callbacks<Result, Variables>): Promise<Complete<Result>>;
}

/**
 * Runs a mutation. After success it refetches `refetches`, then calls `onDone`. Calls while the mutation runs are
 * dropped, because a double click arrives before the button is rendered as busy.
 */
export function useApiMutation<Result, Variables>(
  document: Document<Result, Variables>,
  options: {
    readonly refetches?: readonly AnyDocument[];
    readonly onDone?: (result: Complete<Result>, variables: Variables) => void | Promise<void>;
  } = {},
): ApiMutation<Result, Variables> {
  const running = useRef<Promise<Complete<Result>>>(undefined);
  const mutation = useMutation<Complete<Result>, ApiError, Variables>({
    mutationKey: keyOf(document),
    mutationFn: (variables) => request(document, variables),
    onSuccess: async (result, variables) => {
      await refetch(...(options.refetches ?? []));
      await options.onDone?.(result, variables);
    },
  });
  const mutateAsync = (variables: Variables, callbacks?: Callbacks<Result, Variables>) => {
    running.current ??= mutation.mutateAsync(variables, callbacks).finally(() => {
      running.current = undefined;
    });
    return running.current;
  };
  const mutateNext = async (variables: Variables, callbacks?: Callbacks<Result, Variables>) => {
    while (running.current) await running.current.catch(() => undefined);
    return mutateAsync(variables, callbacks);
  };
  return {
    ...mutation,
    mutateAsync,
    mutateNext,
    // Does not reset a running mutation: the form would look ready, but its next call would be dropped.
    reset: () => {
      if (!running.current) mutation.reset();
    },
    mutate: (variables, callbacks) => void mutateAsync(variables, callbacks).catch(() => undefined),
  };
}
