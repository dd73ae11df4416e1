import cors from 'cors';
import type { RequestHandler, Response } from 'express';
import type { Access } from './access.js';
import { Client, type ClientRights } from './limited-client.js';

/** Refuses names that another site may have made point here. */
export function checkHost(access: Access): RequestHandler {
  return (req, _res, next) => {
    access.checkHost(req.headers);
    next();
  };
}

/** Lets pages of allowed origins use the routes that follow, and refuses others; answers their preflights. */
export function checkOrigin(access: Access): RequestHandler[] {
  const allow = cors<Parameters<RequestHandler>[0]>((req, done) => {
    done(null, {
      origin: access.mayUse(req.headers),
      // Without `allowedHeaders` a page may send any header: OpenAI's client sends `x-stainless-lang` and others.
      exposedHeaders: '*',
      maxAge: 600,
    });
  });
  const refuse: RequestHandler = (req, _res, next) => {
    access.checkOrigin(req.headers);
    next();
  };
  return [refuse, allow];
}

/** Asks for a key where there are keys, counts the request, and leaves `res.locals.principal`. */
export function authenticate(access: Access, right: keyof ClientRights): RequestHandler {
  return async (req, res, next) => {
    const client = access.byKey(req.headers, right, req.socket.remoteAddress);
    res.locals.principal = client;
    await client.request(right);
    next();
  };
}

/** `POST /v1/tickets`, behind {@link authenticate}. */
export function issueTicket(access: Access): RequestHandler {
  return async (_req, res) => {
    const { ticket, expiresAtMs } = await access.issueTicket(clientOf(res));
    res
      .status(201)
      .set('Cache-Control', 'no-store')
      .json({ ticket, expires_at: Math.floor(expiresAtMs / 1000) });
  };
}

function clientOf(res: Response): Client {
  const { principal } = res.locals;
  if (principal instanceof Client) return principal;
  throw new Error('the request was not authenticated');
}
