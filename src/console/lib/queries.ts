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

/** All answers of the session. Nothing is tried again by itself: a lost connection is, when it comes back. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { retry: false, staleTime: FRESH_MS, networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always' },
  },
});

export type AnyDocument = Pick<Document<never, never>, 'name'>;

/** The key of an operation's answer; without variables, of all its answers. */
export const keyOf = (document: AnyDocument, variables?: unknown): QueryKey =>
  variables === undefined ? [document.name] : [document.name, variables];

/** Has the answers of these queries asked for again. */
export async function refetch(...documents: readonly AnyDocument[]): Promise<void> {
  await Promise.all(documents.map((each) => askAgain({ queryKey: keyOf(each) })));
}

/**
 * Has what is shown asked for again, all of it without a filter. An answer that is on its way may have been read before
 * what changed, so that one is waited for and asked for once more.
 */
export async function askAgain(filter: QueryFilters = {}): Promise<void> {
  const isOnItsWay = new Set(queryClient.getQueryCache().findAll({ ...filter, fetchStatus: 'fetching' }));
  await queryClient.invalidateQueries(filter, { cancelRefetch: false });
  await queryClient.invalidateQueries(
    { predicate: (query) => isOnItsWay.has(query) },
    { cancelRefetch: false },
  );
}

/** Streams may say each second that changes went by unseen, and a page has several of them. */
const AGAIN_EVERY_MS = 2_000;
let isAgainDue = false;

/** Has all that is shown asked for again in a moment, once however often this is said until then. */
export function askAgainSoon(): void {
  if (isAgainDue) return;
  isAgainDue = true;
  setTimeout(() => {
    isAgainDue = false;
    void askAgain();
  }, AGAIN_EVERY_MS);
}

export type ApiQuery<Result> = UseQueryResult<Complete<Result>, ApiError>;

/** The answer of a query. With `keepsLast`, for lists, the last answer stays until that to new variables is there. */
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
  /** Runs it; what goes wrong is in `error`. */
  mutate(variables: Variables, callbacks?: Callbacks<Result, Variables>): void;
  /** Runs it. Rejects with `ApiError`. */
  mutateAsync(variables: Variables, callbacks?: Callbacks<Result, Variables>): Promise<Complete<Result>>;
  /** Runs it after what runs now, to take something back: that is asked for once, and dropped never. Rejects as well. */
  mutateNext(variables: Variables, callbacks?: Callbacks<Result, Variables>): Promise<Complete<Result>>;
}

/**
 * Runs a mutation; when it worked, the answers of `refetches` are asked for again before `onDone` is called. It runs
 * once at a time: what is asked for while it runs is dropped, since a second click comes before a button looks busy.
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
    // What runs is still known: forgotten, the next would seem to run and be dropped.
    reset: () => {
      if (!running.current) mutation.reset();
    },
    mutate: (variables, callbacks) => void mutateAsync(variables, callbacks).catch(() => undefined),
  };
}
