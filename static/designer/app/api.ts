/** Calls to `/api/v1`: JSON without loss of digits, the session's CSRF token, problems as errors. */

import { text } from '../model/definition';
import { isObject, type JsonObject, type JsonValue, parseJson, writeJson } from '../model/json';

/** The server said no: what it said, with the request's id for the log. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly problem: JsonObject,
    readonly requestId: string,
  ) {
    super(text(problem.detail) || text(problem.title) || `HTTP ${status}`);
  }

  get details(): JsonObject {
    return isObject(this.problem.details) ? this.problem.details : {};
  }

  /** Worth another try by itself: the server is busy, restarting or not there. */
  get passing(): boolean {
    return this.status === 429 || this.status >= 500;
  }
}

/** The server was not reached. */
export class OfflineError extends Error {}

const ROOT = '/api/v1';

async function answerOf(response: Response): Promise<JsonValue> {
  const body = await response.text();
  let value: JsonValue = null;
  try {
    value = body ? parseJson(body) : null;
  } catch {
    // A proxy's page in HTML: the status is all there is to tell.
  }
  if (response.ok) return value;
  throw new ApiError(response.status, isObject(value) ? value : {}, response.headers.get('X-Request-Id') ?? '');
}

export class Api {
  constructor(
    private readonly csrf: string,
    private readonly call: typeof fetch = (input, init) => fetch(input, init),
  ) {}

  get(path: string): Promise<JsonValue> {
    return this.send('GET', path);
  }

  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<JsonValue> {
    const init: RequestInit = {
      method,
      credentials: 'same-origin',
      headers: { Accept: 'application/json', 'X-CSRFToken': this.csrf, ...headers },
    };
    if (body !== undefined) {
      init.body = writeJson(body);
      init.headers = { ...init.headers, 'Content-Type': 'application/json' };
    }
    let response: Response;
    try {
      response = await this.call(ROOT + path, init);
    } catch (error) {
      throw new OfflineError(String(error));
    }
    return answerOf(response);
  }
}

/** The revision as `If-Match` names it. */
export function ifMatch(revision: string): Readonly<Record<string, string>> {
  return { 'If-Match': `"${revision}"` };
}
