import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import express, { type Response, type Router } from 'express';

const require = createRequire(import.meta.url);
const swaggerUi = dirname(require.resolve('swagger-ui-dist/swagger-ui-bundle.js'));
const ASSETS = ['swagger-ui-bundle.js', 'swagger-ui.css', 'favicon-32x32.png'];
const ASSET_MAX_AGE_MS = 3_600_000;

/** Everything comes from this gateway, and only this gateway is called. The page itself holds no script. */
const HEADERS = {
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
};

const PAGE = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Messaging gateway: REST reference</title>
<link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/swagger-ui.css">
<body>
<div id="reference"></div>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

const START = `SwaggerUIBundle({
  url: '/api/v1/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  validatorUrl: null,
});
`;

/** The reference at `/docs`: shows `/api/v1/openapi.json`, with assets of this machine only. */
export function createDocsRouter(): Router {
  const router = express.Router();
  const answer = (response: Response, type: string, text: string) =>
    void response.set(HEADERS).type(type).send(text);
  router.get('/', (_request, response) => answer(response, 'html', PAGE));
  router.get('/start.js', (_request, response) => answer(response, 'js', START));
  for (const name of ASSETS) {
    router.get(`/${name}`, (_request, response) => {
      response.set(HEADERS).sendFile(name, { root: swaggerUi, maxAge: ASSET_MAX_AGE_MS });
    });
  }
  return router;
}
