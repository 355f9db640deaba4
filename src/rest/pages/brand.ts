/** The operator's name, logo and accent colour in the console (R461). */
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Request, RequestHandler, Response } from 'express';
import { mix, readable } from '../../runtime/colour.ts';
import { builtFolder, FOREVER, PAGE_HEADERS } from './built.ts';

export interface Brand {
  readonly name: string | undefined;
  readonly logo: { readonly type: string; readonly bytes: Buffer } | undefined;
  /** The accent colour as `#rrggbb`. It is readable against white text. */
  readonly accent: string | undefined;
}

/** Backgrounds of the console in its light and in its dark theme (tokens.css). */
const LIGHT = { page: '#f7f8fa', sunken: '#eef0f4', surface: '#ffffff' } as const;
const DARK = { page: '#0f1217', sunken: '#20252e', surface: '#171b22' } as const;
/** Part of the accent in the background of a chosen row. */
const SOFT = { light: 0.1, dark: 0.2 } as const;

/**
 * A logo may be an SVG, which can contain scripts. As an image it runs none. Opened as a page it is a sandbox of its own
 * that loads nothing.
 */
const LOGO_HEADERS = {
  'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox",
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** Returns the handlers of the console's branded files. Undefined if the operator has set no brand. */
export function createBrand(brand: Brand) {
  const { name, logo, accent } = brand;
  if (name === undefined && logo === undefined && accent === undefined) return undefined;
  const styles = accent === undefined ? undefined : accentStyles(accent);
  const page: RequestHandler = async (_request, response, next) => {
    let html: string;
    try {
      html = await readFile(join(builtFolder('console'), 'index.html'), 'utf8');
    } catch (error) {
      // Without a built console, the path is not found.
      next((error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : error);
      return;
    }
    response.set({ ...PAGE_HEADERS, 'Cache-Control': 'no-cache' }).type('html');
    response.send(
      branded(html, { name, logo: logo && hashOf(logo.bytes), styles: styles && hashOf(styles) }),
    );
  };
  return {
    page,
    logo(request: Request, response: Response, next: () => void) {
      if (logo)
        response
          .set({ ...LOGO_HEADERS, 'Cache-Control': cachingOf(request, hashOf(logo.bytes)) })
          .type(logo.type)
          .send(logo.bytes);
      else next();
    },
    styles(request: Request, response: Response, next: () => void) {
      if (styles === undefined) next();
      else
        response
          .set({ ...PAGE_HEADERS, 'Cache-Control': cachingOf(request, hashOf(styles)) })
          .type('css')
          .send(styles);
    },
  };
}

/**
 * How long a browser may keep a file. If the address names another version, the page comes from a process with another
 * brand, as in a rolling update: then it keeps nothing.
 */
const cachingOf = ({ query }: Request, hash: string) => (query.v === hash ? FOREVER : 'no-store');

const hashOf = (content: Buffer | string) => createHash('sha256').update(content).digest('hex').slice(0, 12);

/** Puts the brand into the page. `logo` and `styles` are the hashes of these files. */
function branded(
  html: string,
  { name, logo, styles }: { name: string | undefined; logo: string | undefined; styles: string | undefined },
): string {
  const added: string[] = [];
  let page = html;
  if (name !== undefined) {
    page = page.replace(/<title>[^<]*<\/title>/, () => `<title>${escaped(name)}</title>`);
    added.push(`<meta name="brand-name" content="${escaped(name)}">`);
  }
  if (logo !== undefined) {
    const address = `/console/brand/logo?v=${logo}`;
    page = page.replace(/<link rel="icon"[^>]*>/, `<link rel="icon" href="${address}">`);
    added.push(`<meta name="brand-logo" content="${address}">`);
  }
  // The last styles win over those of the console.
  if (styles !== undefined)
    added.push(`<link rel="stylesheet" href="/console/brand/accent.css?v=${styles}">`);
  return page.replace('</head>', () => `  ${added.join('\n    ')}\n  </head>`);
}

function escaped(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;');
}

/**
 * Returns the styles for an accent colour. Text in the accent colour stands on several backgrounds, so the colour is made
 * darker in the light theme and lighter in the dark theme until it is readable on all of them.
 */
export function accentStyles(accent: string): string {
  const soft = { light: mix(accent, LIGHT.surface, SOFT.light), dark: mix(accent, DARK.surface, SOFT.dark) };
  const light = readable(accent, '#000000', [...Object.values(LIGHT), soft.light]);
  const dark = readable(accent, '#ffffff', [...Object.values(DARK), soft.dark]);
  return `:root {
  --accent: light-dark(${light}, ${dark});
  --on-accent: light-dark(#ffffff, ${DARK.page});
  --accent-soft: light-dark(${soft.light}, ${soft.dark});
}
`;
}
