import type { Request, Response } from 'express';

/** After the answer, the rest of an upload is read and discarded for at most this time, in ms. */
const UPLOAD_GRACE_MS = 5_000;

/**
 * Headers that are collected during a request and written together. Setting headers one by one takes Node twice as
 * long.
 */
export type AnswerHeaders = Record<string, string | number>;

/**
 * Sends a JSON answer. If the client is still uploading, the rest of the upload is discarded, and the connection is
 * closed after 5 seconds.
 */
export function sendJson(
  request: Request,
  response: Response,
  status: number,
  json: string,
  headers: Readonly<AnswerHeaders> = {},
): void {
  sendText(request, response, status, json, headers, 'application/json; charset=utf-8');
}

/** Sends an answer of another media type, like `sendJson`. */
export function sendText(
  request: Request,
  response: Response,
  status: number,
  text: string,
  headers: Readonly<AnswerHeaders>,
  contentType: string,
): void {
  response
    .writeHead(status, {
      ...headers,
      'Content-Type': contentType,
      'Content-Length': Buffer.byteLength(text),
    })
    // Send a string: Node writes it together with the headers. For a buffer it would write to the socket a second time.
    .end(text);
  if (request.complete || request.destroyed) return;
  // Do not close at once. That would reset the connection before the client has read the answer.
  const cut = setTimeout(() => request.socket.destroy(), UPLOAD_GRACE_MS).unref();
  request.once('close', () => clearTimeout(cut));
  request.once('end', () => clearTimeout(cut));
  request.resume();
}
