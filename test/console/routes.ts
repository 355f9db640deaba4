import { readFileSync } from 'node:fs';

const ROUTES = readFileSync('src/console/routes.tsx', 'utf8');

/** Returns the paths of the console's pages that need no object, as `src/console/routes.tsx` lists them. */
export const pathsOf = (whose: 'everybody' | 'operators'): string[] =>
  [...ROUTES.matchAll(/\b(page|operatorPage)\(\s*'(\/[^':]*)'/g)].flatMap(([, kind, path = '']) =>
    (kind === 'operatorPage') === (whose === 'operators') ? path : [],
  );
