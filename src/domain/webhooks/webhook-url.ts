/** Stands for what is not shown of a webhook's URL. */
const MASK = '***';

/**
 * A webhook's URL as lists and the audit log show it: receivers know their callers by tokens in the query, so its values
 * are masked, and a fragment, a user name and a password too. Names of parameters, host and path stay.
 */
export function maskedUrl(url: string): string {
  const { address, parameters, hasFragment } = partsOf(url);
  const shown = address.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, `$1${MASK}@`);
  const query = parameters && `?${parameters.map(masked).join('&')}`;
  return `${shown}${query ?? ''}${hasFragment ? `#${MASK}` : ''}`;
}

/** Whether a URL was copied from where it is masked: with it, what the receiver knows its caller by would be lost. */
export function isMasked(url: string): boolean {
  const { parameters = [] } = partsOf(url);
  return parameters.some((parameter) => parameter === MASK || parameter.endsWith(`=${MASK}`));
}

function partsOf(url: string) {
  const hash = url.indexOf('#');
  const beforeHash = hash < 0 ? url : url.slice(0, hash);
  const query = beforeHash.indexOf('?');
  return {
    address: query < 0 ? beforeHash : beforeHash.slice(0, query),
    /** Undefined where there is no query. */
    parameters: query < 0 ? undefined : beforeHash.slice(query + 1).split('&'),
    hasFragment: hash >= 0 && hash < url.length - 1,
  };
}

function masked(parameter: string): string {
  const equals = parameter.indexOf('=');
  if (equals < 0) return parameter === '' ? '' : MASK;
  return equals === parameter.length - 1 ? parameter : `${parameter.slice(0, equals + 1)}${MASK}`;
}
