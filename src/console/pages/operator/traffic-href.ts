import type { CarrierFactsFragment } from './operator.generated.ts';

/** Returns the page of the accounts that sent in an hour or a day, or of those whose messages a carrier had then. */
export function trafficHref(
  at: string,
  lengthMs: number,
  carrier?: Pick<CarrierFactsFragment, 'channel' | 'name'>,
): string {
  const params = new URLSearchParams({
    from: at,
    to: new Date(Date.parse(at) + lengthMs).toISOString(),
    ...(carrier && { channel: carrier.channel, provider: carrier.name }),
  });
  return `/traffic?${params}`;
}
