import { useLocation, useSearchParams } from 'wouter';

type Environment = 'PRODUCTION' | 'SANDBOX';

const NAME = 'environment';
/** Paths of pages whose content belongs to one environment. Their URLs carry the chosen environment. */
const OF_ENVIRONMENT = /^\/((contacts|suppressions|devices|webhooks|events|senders|messages|usage)(\/|$)|$)/;
/** Of these paths, the lists and the forms that add something. Only these pages offer the switch. */
const SWITCHED =
  /^\/((contacts(\/(new|import|imports))?|suppressions(\/import)?|(devices|webhooks|senders)(\/new)?|events|usage)?)$/;

/** Returns the environment in the URL, or production if the URL has none. */
export function useEnvironment(): Environment {
  return useSearchParams()[0].get(NAME) === 'SANDBOX' ? 'SANDBOX' : 'PRODUCTION';
}

/** Returns a function that adds the current environment to a path, if the page of that path has an environment. */
export function useInEnvironment(): (href: string) => string {
  const environment = useEnvironment();
  return (href) => inEnvironment(href, environment);
}

/**
 * Returns a function that switches this page to an environment and back to the first row of its list. Undefined if the
 * page has no switch.
 */
export function useSwitch(): ((to: Environment) => void) | undefined {
  const [params] = useSearchParams();
  const [path, navigate] = useLocation();
  if (!SWITCHED.test(path)) return undefined;
  return (to) => {
    const next = new URLSearchParams(params);
    next.delete(NAME);
    next.delete('after');
    navigate(inEnvironment(next.size === 0 ? path : `${path}?${next}`, to));
  };
}

/** Query parameters that name the object in the drawer beside a list. */
export const DRAWERS = ['message', 'delivery', 'request'] as const;
export type DrawerName = (typeof DRAWERS)[number];

/** Returns the query parameters that filter a list. Neither the environment nor an open drawer is one of them. */
export function useNarrowing(): URLSearchParams {
  const narrowing = new URLSearchParams(useSearchParams()[0]);
  for (const name of DRAWERS) narrowing.delete(name);
  const [path] = useLocation();
  if (OF_ENVIRONMENT.test(path)) narrowing.delete(NAME);
  return narrowing;
}

/** Adds `environment` to a path, if the page of that path has an environment. Production needs no addition. */
export function inEnvironment(href: string, environment: Environment): string {
  const [path = '', search = ''] = href.split('?');
  if (environment === 'PRODUCTION' || !OF_ENVIRONMENT.test(path)) return href;
  const params = new URLSearchParams(search);
  params.set(NAME, environment);
  return `${path}?${params}`;
}
