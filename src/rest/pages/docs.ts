import express, { type NextFunction, type Request, type Response, type Router } from 'express';
import { builtFiles } from './built.ts';

/** Names of pages and files below `/docs`: no dot but that of the ending. */
const NAME = /^[\w-]+(\/[\w-]+)*(\.[a-z]+)?$/;
const NAME_MAX = 100;
/** The same names serve newer content after an update, so a browser asks each time. */
const ASK = 'no-cache';

export interface Docs {
  /** The pages at `/docs` (R320): dist/docs, made by tools/docs from docs/guides and schema/openapi.json. */
  readonly router: Router;
  /** The list of pages for language models, for the places where these look. */
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
