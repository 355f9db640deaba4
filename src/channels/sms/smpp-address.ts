/** Addresses on the wire: type of number (TON), numbering plan (NPI) and up to 20 ASCII characters. */
export interface SmppAddress {
  readonly ton: number;
  readonly npi: number;
  readonly address: string;
}

const INTERNATIONAL = { ton: 1, npi: 1 };
const NETWORK_SPECIFIC = { ton: 3, npi: 0 };
const ALPHANUMERIC = { ton: 5, npi: 0 };
const SHORT_CODE_DIGITS = 6;

/**
 * The sender: at most six digits are a short code (TON 3, NPI 0), more digits with or without `+` an
 * international number (TON 1, NPI 1), anything else alphanumeric (TON 5, NPI 0). `override` replaces either
 * value, for carriers with a mind of their own. Undefined when it does not fit the field.
 */
export function sourceAddress(
  from: string,
  override: { readonly ton?: number; readonly npi?: number } = {},
): SmppAddress | undefined {
  if (!/^[\x20-\x7e]{1,20}$/.test(from)) return undefined;
  const kind = sourceKind(from);
  const address = kind === INTERNATIONAL ? from.replace('+', '') : from;
  return { ton: override.ton ?? kind.ton, npi: override.npi ?? kind.npi, address };
}

/** The recipient, an MSISDN with or without `+` (R34): TON 1, NPI 1, digits only. Undefined when it is no number. */
export function destinationAddress(to: string): SmppAddress | undefined {
  const digits = /^\+?(\d{1,20})$/.exec(to)?.[1];
  return digits === undefined ? undefined : { ...INTERNATIONAL, address: digits };
}

function sourceKind(from: string) {
  if (/^\+\d+$/.test(from)) return INTERNATIONAL;
  if (!/^\d+$/.test(from)) return ALPHANUMERIC;
  return from.length <= SHORT_CODE_DIGITS ? NETWORK_SPECIFIC : INTERNATIONAL;
}
