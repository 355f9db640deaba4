import {
  keepPreviousData,
  type MutateOptions,
  QueryClient,
  type QueryFilters,
  type QueryKey,
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
} from '@tanstack/react-query';
import { useRef } from 'react';
import type { ApiError } from './api-error.ts';
import type { Complete, Document } from './document.ts';
import { request } from './request.ts';

const FRESH_MS = 2_000;

/** All answers of the session. Failed queries are not retried, except when the connection is restored. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { retry: false, staleTime: FRESH_MS, networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always' },
  },
});

export type AnyDocument = Pick<Document<never, never>, 'name'>;

/** The cache key of an operation's answer; without variables, of all its answers. */
export const keyOf = (document: AnyDocument, variables?: unknown): QueryKey =>
  variables === undefined ? [document.name] : [document.name, variables];

/** Refetches these queries. */
export async function refetch(...documents: readonly AnyDocument[]): Promise<void> {
  await Promise.all(documents.map((each) => askAgain({ queryKey: keyOf(each) })));
}

/**
 * Refetches all mounted queries, or those that match the filter. A query in flight may have been answered before the
 * change, so it runs once more after its answer.
 */
export async function askAgain(filter: QueryFilters = {}): Promise<void> {
  const isOnItsWay = new Set(queryClient.getQueryCache().findAll({ ...filter, fetchStatus: 'fetching' }));
  await queryClient.invalidateQueries(filter, { cancelRefetch: false });
  await queryClient.invalidateQueries(
    { predicate: (query) => isOnItsWay.has(query) },
    { cancelRefetch: false },
  );
}

/** Streams may report missed changes each second, and a page has several streams. */
const AGAIN_EVERY_MS = 2_000;
let isAgainDue = false;

/** Refetches all mounted queries soon; calls until then count as one. */
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
 * The answer of a query. With `keepsLast`, for lists, the last answer stays until the answer to new variables arrives.
 */
export function useApiQuery<Result, Variables>(
  document: Document<Result, Variables>,
  variables: Variables,
  options: {
    readonly isEnabled?: boolean;
    readonly refetchEveryMs?: number;
    readonly keepsLast?: boolean;
  } = {},
): ApiQuery<Result> {
  return useQuery<Complete<Result>, ApiError>({
    queryKey: keyOf(document, variables),
    queryFn: ({ signal }) => request(document, variables, signal),
    ...(options.keepsLast ? { placeholderData: keepPreviousData } : {}),
    enabled: options.isEnabled ?? true,
    refetchInterval: options.refetchEveryMs ?? false,
  });
}

type MutationOf<Result, Variables> = UseMutationResult<Complete<Result>, ApiError, Variables>;
type Callbacks<Result, Variables> = MutateOptions<Complete<Result>, ApiError, Variables>;

export interface ApiMutation<Result, Variables>
  extends Pick<MutationOf<Result, Variables>, 'data' | 'error' | 'isPending' | 'variables' | 'reset'> {
  /** Runs the mutation. A failure is in `error`. */
  mutate(variables: Variables, callbacks?: Callbacks<Result, Variables>): void;
  /** Runs the mutation. Rejects with `ApiError`. */
  mutateAsync(variables: Variables, callbacks?: Callbacks<Result, Variables>): Promise<Complete<Result>>;
  /** Runs the mutation after the one that runs now, for an undo. It is never dropped. Rejects with `ApiError`. */
  mutateNext(variables: Variables, callbacks?: Callbacks<Result, Variables>): Promise<Complete<Result>>;
}

/**
 * Runs a mutation, refetches `refetches` when it succeeded, then calls `onDone`. A call while it runs is dropped,
 * because a double click comes before the button looks busy.
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
    // Keeps a running mutation: otherwise the next call would look started and still be dropped.
    reset: () => {
      if (!running.current) mutation.reset();
    },
    mutate: (variables, callbacks) => void mutateAsync(variables, callbacks).catch(() => undefined),
  };
}
