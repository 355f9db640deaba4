import type { Request, Response } from 'express';

/** How long the rest of an upload is still read after the answer. */
const UPLOAD_GRACE_MS = 5_000;

/** Collected during a request and written together: setting headers one by one costs Node twice as much. */
export type AnswerHeaders = Record<string, string | number>;

/** Sends a JSON answer. Discards what the client is still uploading, and cuts a long upload off. */
export function sendJson(
  request: Request,
  response: Response,
  status: number,
  json: string,
  headers: Readonly<AnswerHeaders> = {},
): void {
  response
    .writeHead(status, {
      ...headers,
      'Content-Type': 'application/json; charset=utf-8',
      'Content-Length': Buffer.byteLength(json),
    })
    // A string is written together with the head. A buffer would be a second write.
    .end(json);
  if (request.complete || request.destroyed) return;
  // Closing at once would reset the connection before the client reads the answer.
  const cut = setTimeout(() => request.socket.destroy(), UPLOAD_GRACE_MS).unref();
  request.once('close', () => clearTimeout(cut));
  request.once('end', () => clearTimeout(cut));
  request.resume();
}
