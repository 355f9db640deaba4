import type { NextFunction, Request, Response } from 'express';
import { builtFiles } from './built.ts';

/** Serves GraphiQL from dist/explorer to people who open `/graphql` in a browser (R324). */
export interface Explorer {
  /** Answers a GET of `/graphql` by a browser. For a program it calls `next`, so that GraphQL answers. */
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
    asset: built.asset,
  };
}

/** True if a browser wants to show a page. A program wants JSON: it accepts any type, or sends a query by GET. */
function isPerson(request: Request): boolean {
  const wanted = request.accepts(['application/json', 'text/html']);
  return wanted === 'text/html' && request.query.query === undefined;
}
