import express, { type Router } from 'express';
import { builtFiles } from './built.ts';

/** A file name without path separators, so that a request cannot name files outside the assets folder. */
const ASSET = /^[\w-]+(\.[\w-]+)+$/;
/** An asset never changes, because its name contains a hash of its content. So browsers may keep it for a year. */
const FOREVER = 'public, max-age=31536000, immutable';

/** Serves the web console from dist/console at `/console`. Every path below is a page of the console. */
export function createConsoleRouter(): Router {
  const router = express.Router();
  const built = builtFiles('console');
  router.get('/assets/:name', (request, response, next) => {
    if (!ASSET.test(request.params.name)) next();
    else built.send(`assets/${request.params.name}`, FOREVER, request, response, next);
  });
  router.get('/assets{/*rest}', (_request, _response, next) => next('router'));
  router.get('/{*page}', (request, response, next) => {
    built.send('index.html', 'no-cache', request, response, next);
  });
  return router;
}
