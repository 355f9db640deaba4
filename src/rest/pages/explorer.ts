import type { NextFunction, Request, Response } from 'express';
import { builtFiles } from './built.ts';

/** No path separator, so that only assets can be named. */
const ASSET = /^[\w-]+(\.[\w-]+)+$/;
/** The name of an asset contains a hash of its content. */
const FOREVER = 'public, max-age=31536000, immutable';

/** GraphiQL for people who open `/graphql` in a browser (R324): dist/explorer. */
export interface Explorer {
  /** Answers a GET of `/graphql`. Leaves requests of programs to GraphQL, by `next`. */
  page(request: Request, response: Response, next: NextFunction): void;
  /** Answers a GET of `/graphql/assets/:name`. */
  asset(request: Request<{ name: string }>, response: Response, next: NextFunction): void;
}

export function createExplorer(): Explorer {
  const built = builtFiles('explorer');
  return {
    page(request, response, next) {
      if (isPerson(request)) built.send('index.html', 'no-cache', request, response, next);
      else next();
    },
    asset(request, response, next) {
      if (!ASSET.test(request.params.name)) next();
      else built.send(`assets/${request.params.name}`, FOREVER, request, response, next);
    },
  };
}

/** A browser that shows a page. A program that takes anything, or asks a query by GET, wants JSON. */
function isPerson(request: Request): boolean {
  const wanted = request.accepts(['application/json', 'text/html']);
  return wanted === 'text/html' && request.query.query === undefined;
}
