import express, { type Router } from 'express';
import { builtFiles } from './built.ts';

/** Serves the web console from dist/console at `/console`. Every path below is a page of the console. */
export function createConsoleRouter(): Router {
  const router = express.Router();
  const built = builtFiles('console');
  router.get('/assets/:name', built.asset);
  router.get('/assets{/*rest}', (_request, _response, next) => next('router'));
  router.get('/{*page}', (request, response, next) => {
    built.send('index.html', 'no-cache', request, response, next);
  });
  return router;
}
