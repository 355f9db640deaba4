/** The text that replaces a masked value. */
const MASK = '***';

/**
 * Masks the query values, fragment, user name and password of a webhook URL (R212), because receivers authenticate
 * callers by tokens there. Parameter names, host and path stay.
 */
export function maskedUrl(url: string): string {
  const { address, parameters, hasFragment } = partsOf(url);
  const shown = address.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/]*@/i, `$1${MASK}@`);
  const query = parameters && `?${parameters.map(masked).join('&')}`;
  return `${shown}${query ?? ''}${hasFragment ? `#${MASK}` : ''}`;
}

/** True if a URL contains a masked query value. Storing such a URL would lose the receiver's token. */
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
    /** The parameters of the query. Undefined if the URL has no query. */
    parameters: query < 0 ? undefined : beforeHash.slice(query + 1).split('&'),
    hasFragment: hash >= 0 && hash < url.length - 1,
  };
}

function masked(parameter: string): string {
  const equals = parameter.indexOf('=');
  if (equals < 0) return parameter === '' ? '' : MASK;
  return equals === parameter.length - 1 ? parameter : `${parameter.slice(0, equals + 1)}${MASK}`;
}
