import express, { type NextFunction, type Request, type Response, type Router } from 'express';
import { builtFiles } from './built.ts';

/** Names of pages and files below `/docs`. The only dot is the one before the file extension, so `..` is impossible. */
const NAME = /^[\w-]+(\/[\w-]+)*(\.[a-z]+)?$/;
const NAME_MAX = 100;
/**
 * Browsers must ask each time whether the file has changed, because an update changes the content under the same name.
 */
const ASK = 'no-cache';

export interface Docs {
  /**
   * Serves the pages at `/docs` (R320) from dist/docs. tools/docs makes them from docs/guides and schema/openapi.json.
   */
  readonly router: Router;
  /**
   * Sends llms.txt, the list of pages for language models. It is mounted at the paths where their programs look for it.
   */
  llms(request: Request, response: Response, next: NextFunction): void;
}

export function createDocs(): Docs {
  const router = express.Router();
  const built = builtFiles('docs');
  router.get('/', (request, response, next) => built.send('index.html', ASK, request, response, next));
  router.get('/*page', (request, response, next) => {
    const name = request.params.page.join('/');
    if (name.length > NAME_MAX || !NAME.test(name)) next();
    else built.send(name.includes('.') ? name : `${name}.html`, ASK, request, response, next);
  });
  return {
    router,
    llms: (request, response, next) => built.send(request.path.slice(1), ASK, request, response, next),
  };
}
