import { extname, join } from 'node:path';
import type { NextFunction, Request, Response } from 'express';

/** Matches a file name without path separators. So a request cannot name a file outside the assets folder. */
const ASSET = /^[\w-]+(\.[\w-]+)+$/;
/** Browsers may keep an asset for a year. It never changes, because its name contains a hash of its content. */
export const FOREVER = 'public, max-age=31536000, immutable';

/** Files that the build also stores compressed. Fonts are compressed by their format. */
const COMPRESSED = /\.(html|js|css|svg)$/;
const ENCODINGS = { br: '.br', gzip: '.gz' } as const;

/**
 * Headers of the pages. Browsers may load files from this gateway only, and may call only this gateway. Inline scripts
 * and styles are forbidden, because the pages contain none.
 */
export const PAGE_HEADERS = {
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

export interface BuiltFiles {
  /** Sends a file in an encoding that the client accepts. Calls `next` if there is no such file. */
  send(name: string, cacheControl: string, request: Request, response: Response, next: NextFunction): void;
  /** Sends the file that a request for `assets/:name` names. Browsers keep it for a year. */
  asset(request: Request<{ name: string }>, response: Response, next: NextFunction): void;
}

/** Gives access to the files of `dist/<folder>`. The build also stores a compressed copy of each file beside it. */
export function builtFiles(folder: 'console' | 'docs' | 'explorer'): BuiltFiles {
  const root = builtFolder(folder);
  const files: BuiltFiles = {
    send(name, cacheControl, request, response, next) {
      const accepted = COMPRESSED.test(name) ? request.acceptsEncodings() : [];
      const encoding = (['br', 'gzip'] as const).find((each) => accepted.includes(each));
      const headers = {
        ...PAGE_HEADERS,
        'Cache-Control': cacheControl,
        Vary: 'Accept-Encoding',
        ...(encoding ? { 'Content-Encoding': encoding } : {}),
      };
      response.type(extname(name)).set(headers);
      response.sendFile(
        name + (encoding ? ENCODINGS[encoding] : ''),
        { root, cacheControl: false },
        (error) => {
          if (!error || response.headersSent) return;
          for (const header of Object.keys(headers)) response.removeHeader(header);
          response.removeHeader('Content-Type');
          next();
        },
      );
    },
    asset(request, response, next) {
      if (ASSET.test(request.params.name))
        files.send(`assets/${request.params.name}`, FOREVER, request, response, next);
      else next();
    },
  };
  return files;
}

/** Returns the path of `dist/<folder>`. */
export function builtFolder(folder: 'console' | 'docs' | 'explorer'): string {
  return join(DIST, folder);
}

/** The path of dist. Compiled code runs in dist/src. In tests the sources run in src. */
const DIST = join(
  import.meta.dirname,
  import.meta.dirname.endsWith(join('dist', 'src', 'rest', 'pages')) ? '../../..' : '../../../dist',
);
