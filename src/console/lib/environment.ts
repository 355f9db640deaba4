import { useLocation, useSearchParams } from 'wouter';

type Environment = 'PRODUCTION' | 'SANDBOX';

const NAME = 'environment';
/** Pages about things that belong to an environment. Their addresses carry the one that is looked at. */
const OF_ENVIRONMENT = /^\/(contacts|devices|webhooks)(\/|$)/;
/** Those of them that list such things, or add one: there it can be switched. */
const SWITCHED = /^\/(contacts(\/(new|import|imports))?|(devices|webhooks)(\/new)?)$/;

/** The environment that the address names; production where it names none. */
export function useEnvironment(): Environment {
  return useSearchParams()[0].get(NAME) === 'SANDBOX' ? 'SANDBOX' : 'PRODUCTION';
}

/** Leads to another page of the environment that is looked at: the address, with the environment where it matters. */
export function useInEnvironment(): (href: string) => string {
  const environment = useEnvironment();
  return (href) => inEnvironment(href, environment);
}

/** How this page changes its environment, and starts with the first row again; undefined where it has none to change. */
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

/** What of an address narrows a list: all that stands behind the question mark but the environment. */
export function useNarrowing(): URLSearchParams {
  const narrowing = new URLSearchParams(useSearchParams()[0]);
  const [path] = useLocation();
  if (OF_ENVIRONMENT.test(path)) narrowing.delete(NAME);
  return narrowing;
}

function inEnvironment(href: string, environment: Environment): string {
  const [path = '', search = ''] = href.split('?');
  if (environment === 'PRODUCTION' || !OF_ENVIRONMENT.test(path)) return href;
  const params = new URLSearchParams(search);
  params.set(NAME, environment);
  return `${path}?${params}`;
}
