import { useMemo } from 'react';
import { useLocation, useSearchParams } from 'wouter';
import { isoOf } from '../../lib/local-time.ts';
import { presetSpan } from '../../lib/spans.ts';
import { CHANNEL_NAMES, ENVIRONMENT_NAMES, STATUS_NAMES } from './message-text.ts';
import type {
  Channel,
  Environment,
  MessageFilter,
  MessageStatus,
  RecipientFilter,
} from './messages.generated.ts';

export const PAGE_SIZES = [20, 50, 100] as const;

/** The values of the filters in the URL. An empty string means no filter. */
export interface ListState {
  readonly channel: string;
  readonly status: string;
  readonly environment: string;
  readonly key: string;
  readonly sender: string;
  /** A period of `PERIODS`. Empty or `custom` means that `from` and `to` say it, as ISO 8601 times. */
  readonly period: string;
  readonly from: string;
  readonly to: string;
  readonly search: string;
  readonly size: string;
}
const NAMES = [
  'channel',
  'status',
  'environment',
  'key',
  'sender',
  'period',
  'from',
  'to',
  'search',
  'size',
] as const;

const knownIn = <Value extends string>(names: Readonly<Record<Value, string>>, text: string) =>
  text in names ? (text as Value) : undefined;

/** Returns the filters and the page in the URL, and functions to change them. A changed filter opens the first page. */
export function useListState() {
  const [params] = useSearchParams();
  const [path, navigate] = useLocation();
  const text = params.toString();
  return useMemo(() => {
    const at = new URLSearchParams(text);
    const state = Object.fromEntries(NAMES.map((name) => [name, at.get(name) ?? ''])) as unknown as ListState;
    const status = knownIn<MessageStatus>(STATUS_NAMES, state.status);
    const filter: MessageFilter = {
      channel: listOf(knownIn<Channel>(CHANNEL_NAMES, state.channel)),
      // A message that failed for one recipient only is found under Failed, too.
      ...(status === 'FAILED' ? { recipientStatus: status } : { status: listOf(status) }),
      environment: knownIn<Environment>(ENVIRONMENT_NAMES, state.environment),
      apiKeyId: state.key || undefined,
      sender: state.sender || undefined,
      ...spanOf(state),
      search: state.search || undefined,
    };
    return {
      state,
      filter,
      first: PAGE_SIZES.find((size) => String(size) === state.size) ?? PAGE_SIZES[0],
      isFiltered: Object.values(filter).some((value) => value !== undefined),
      change(next: Partial<ListState>) {
        const changed = new URLSearchParams(
          Object.entries({ ...state, ...next }).filter(([, value]) => value !== ''),
        );
        navigate(changed.size === 0 ? path : `${path}?${changed}`);
      },
    };
  }, [text, path, navigate]);
}

/**
 * Returns the filter of recipients if the person searches for a whole address: a phone number in any spelling, or an
 * email address. The rows are then recipients. Otherwise undefined.
 */
export function recipientFilterOf({
  search,
  recipientStatus,
  ...rest
}: MessageFilter): RecipientFilter | undefined {
  const text = search ?? '';
  const digits = text.replaceAll(/[\s().-]/g, '');
  const isAddress = /^\+?\d{9,15}$/.test(digits) || /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(text);
  if (!isAddress) return undefined;
  const status = recipientStatus ? [recipientStatus] : rest.status;
  const { channel, environment, apiKeyId, sender, from, to } = rest;
  return { address: text, status, channel, environment, apiKeyId, sender, from, to };
}

/** Returns the bounds of the chosen period, or those that were typed. */
function spanOf({ period, from, to }: ListState): Pick<MessageFilter, 'from' | 'to'> {
  const chosen = presetSpan(period, new Date());
  if (chosen) return chosen;
  return { from: isoOf(from) ?? undefined, to: isoOf(to) ?? undefined };
}

function listOf<Name>(name: Name | undefined): readonly Name[] | undefined {
  return name === undefined ? undefined : [name];
}
