import { useLocation, useSearchParams } from 'wouter';

type Environment = 'PRODUCTION' | 'SANDBOX';

const NAME = 'environment';
/** Pages about things that belong to an environment. Their addresses carry the chosen environment. */
const OF_ENVIRONMENT = /^\/(contacts|devices|webhooks)(\/|$)/;
/** The pages of these that list or add things. Only there the environment can be switched. */
const SWITCHED = /^\/(contacts(\/(new|import|imports))?|(devices|webhooks)(\/new)?)$/;

/** The environment in the address; production by default. */
export function useEnvironment(): Environment {
  return useSearchParams()[0].get(NAME) === 'SANDBOX' ? 'SANDBOX' : 'PRODUCTION';
}

/** Makes the address of another page. Pages of an environment keep the chosen one. */
export function useInEnvironment(): (href: string) => string {
  const environment = useEnvironment();
  return (href) => inEnvironment(href, environment);
}

/** Switches the environment of this page and returns to its first row. Undefined on a page without a switch. */
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

/** The query parameters that filter a list: all but the environment. */
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
