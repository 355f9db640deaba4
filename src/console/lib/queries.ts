import {
  keepPreviousData,
  QueryClient,
  type QueryFilters,
  type QueryKey,
  type UseMutationResult,
  type UseQueryResult,
  useMutation,
  useQuery,
} from '@tanstack/react-query';
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

export type ApiMutation<Result, Variables> = UseMutationResult<Complete<Result>, ApiError, Variables>;

/** Runs a mutation; when it worked, the answers of `refetches` are asked for again before `onDone` is called. */
export function useApiMutation<Result, Variables>(
  document: Document<Result, Variables>,
  options: {
    readonly refetches?: readonly AnyDocument[];
    readonly onDone?: (result: Complete<Result>, variables: Variables) => void;
  } = {},
): ApiMutation<Result, Variables> {
  return useMutation<Complete<Result>, ApiError, Variables>({
    mutationKey: keyOf(document),
    mutationFn: (variables) => request(document, variables),
    onSuccess: async (result, variables) => {
      await refetch(...(options.refetches ?? []));
      options.onDone?.(result, variables);
    },
  });
}
