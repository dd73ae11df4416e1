import express, { type RequestHandler } from 'express';
import { ApiError } from '../errors/api-error.js';
import { parseJsonText } from '../requests/request-text.js';

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * Reads a JSON body into `req.body`. JSON alone: a form or plain text that another site posts, for which
 * browsers send no preflight request, never gets as far as a generation. Nothing is decompressed, so the body
 * is read as it was sent.
 */
export function jsonBody(maxBytes: number): RequestHandler[] {
  const read = express.raw({ type: 'application/json', limit: maxBytes, inflate: false });
  return [checkCharset, read, parseBody];
}

const checkCharset: RequestHandler = (req, _res, next) => {
  const [, charset = 'utf-8'] = /;\s*charset="?([^";\s]*)/i.exec(req.headers['content-type'] ?? '') ?? [];
  if (charset.toLowerCase() !== 'utf-8') {
    throw new ApiError('unsupported_encoding', 'Content-Type: the charset must be UTF-8', 'Content-Type');
  }
  next();
};

const parseBody: RequestHandler = (req, _res, next) => {
  if (req.body !== undefined && !Buffer.isBuffer(req.body)) {
    // The message is for the developer of the application; it is not sent to clients.
    const message = 'the body was already read by the application; mount the gateway before body parsers';
    throw new ApiError('internal_error', message);
  }
  // The property is not a buffer if there is no body, or one of another type.
  if (!Buffer.isBuffer(req.body)) {
    throw new ApiError('invalid_json', 'the body must be JSON, with Content-Type: application/json');
  }
  req.body = parseJsonText(decode(req.body), 'body');
  next();
};

function decode(bytes: Uint8Array): string {
  try {
    return UTF8.decode(bytes);
  } catch {
    throw new ApiError('invalid_json', 'the body is not UTF-8');
  }
}
