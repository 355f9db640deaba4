import type { Request, Response } from 'express';

/** How long the rest of an upload is still read after the answer. */
const UPLOAD_GRACE_MS = 5_000;

/** Sends a JSON answer. What the client is still uploading is thrown away, and cut off when it does not end. */
export function sendJson(request: Request, response: Response, status: number, json: string): void {
  const body = Buffer.from(json);
  response.statusCode = status;
  response.setHeader('Content-Type', 'application/json; charset=utf-8');
  response.setHeader('Content-Length', body.length);
  response.end(body);
  if (request.complete || request.destroyed) return;
  // Closing at once would reset the connection, and the client would never see the answer.
  const cut = setTimeout(() => request.socket.destroy(), UPLOAD_GRACE_MS).unref();
  request.once('close', () => clearTimeout(cut));
  request.once('end', () => clearTimeout(cut));
  request.resume();
}
