import express, { type Router } from 'express';
import { type Brand, createBrand } from './brand.ts';
import { builtFiles } from './built.ts';

/** Serves the web console from dist/console at `/console`. Every path below is a page of the console. */
export function createConsoleRouter(given: Brand): Router {
  const router = express.Router();
  const brand = createBrand(given);
  const built = builtFiles('console');
  router.get('/assets/:name', built.asset);
  router.get('/assets{/*rest}', (_request, _response, next) => next('router'));
  if (brand) {
    router.get('/brand/logo', brand.logo);
    router.get('/brand/accent.css', brand.styles);
    router.get('/{*page}', brand.page);
  }
  router.get('/{*page}', (request, response, next) => {
    built.send('index.html', 'no-cache', request, response, next);
  });
  return router;
}
