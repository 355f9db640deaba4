import express, { type Router } from 'express';
import { builtFiles } from './built.ts';

/** No path separator, so that only assets can be named. */
const ASSET = /^[\w-]+(\.[\w-]+)+$/;
/** The name of an asset contains a hash of its content. */
const FOREVER = 'public, max-age=31536000, immutable';

/** The web console at `/console`: dist/console. Every path below is a page of it. */
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
