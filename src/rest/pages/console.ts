import { extname, join } from 'node:path';
import express, { type NextFunction, type Request, type Response, type Router } from 'express';

/** The built console. Compiled code runs in dist/src, sources (in tests) run in src. */
const BUILT = join(
  import.meta.dirname,
  import.meta.dirname.endsWith(join('dist', 'src', 'rest', 'pages'))
    ? '../../../console'
    : '../../../dist/console',
);
const ENCODINGS = { br: '.br', gzip: '.gz' } as const;
/** No path separator, so that only assets can be named. */
const ASSET = /^[\w-]+(\.[\w-]+)+$/;
/** The name of an asset contains a hash of its content. */
const FOREVER = 'public, max-age=31536000, immutable';

/** Everything comes from this gateway. The page itself holds no script or style. */
const HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "font-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
};

/** The web console at `/console`: dist/console, compressed at build time. Every path below is a page of it. */
export function createConsoleRouter(): Router {
  const router = express.Router();
  router.get('/assets/:name', (request, response, next) => {
    if (!ASSET.test(request.params.name)) next();
    else sendBuilt(`assets/${request.params.name}`, FOREVER, request, response, next);
  });
  router.get('/assets{/*rest}', (_request, _response, next) => next('router'));
  router.get('/{*page}', (request, response, next) => {
    sendBuilt('index.html', 'no-cache', request, response, next);
  });
  return router;
}

/** Sends a built file in the client's preferred encoding. Calls `next` when there is no such file. */
function sendBuilt(
  name: string,
  cacheControl: string,
  request: Request,
  response: Response,
  next: NextFunction,
): void {
  const accepted = request.acceptsEncodings();
  const encoding = (['br', 'gzip'] as const).find((each) => accepted.includes(each));
  const headers = {
    ...HEADERS,
    'Cache-Control': cacheControl,
    Vary: 'Accept-Encoding',
    ...(encoding ? { 'Content-Encoding': encoding } : {}),
  };
  response.type(extname(name)).set(headers);
  response.sendFile(
    name + (encoding ? ENCODINGS[encoding] : ''),
    { root: BUILT, cacheControl: false },
    (error) => {
      if (!error || response.headersSent) return;
      for (const header of Object.keys(headers)) response.removeHeader(header);
      response.removeHeader('Content-Type');
      next();
    },
  );
}
