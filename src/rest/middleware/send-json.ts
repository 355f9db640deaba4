import type { Request, Response } from 'express';

/** How long the rest of an upload is still read after the answer. */
const UPLOAD_GRACE_MS = 5_000;

/** Collected while a request is worked on and sent at once: one by one they cost Node twice as much. */
export type AnswerHeaders = Record<string, string | number>;

/** Sends a JSON answer. What the client is still uploading is thrown away, and cut off when it does not end. */
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
    // Head and text go to the socket as one; bytes would be a second piece.
    .end(json);
  if (request.complete || request.destroyed) return;
  // Closing at once would reset the connection, and the client would never see the answer.
  const cut = setTimeout(() => request.socket.destroy(), UPLOAD_GRACE_MS).unref();
  request.once('close', () => clearTimeout(cut));
  request.once('end', () => clearTimeout(cut));
  request.resume();
}
