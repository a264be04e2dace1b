export interface ErrorRow {
  /** When a client gets this number; docs/clients.md and contract/openapi.yaml repeat the words. */
  readonly when: string;
  /** The default text of the answer. */
  readonly message: string;
  /** Headers of every such answer. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Lists every failure by its error number: the HTTP status that would describe it, if the contract allowed another
 * status than 400. Tests compare docs/clients.md and contract/openapi.yaml with this table.
 */
export const ERROR_TABLE = {
  400: {
    when: 'the request is not valid HTTP, or its body is absent, empty, not JSON, not UTF-8, or has a field of the plant twice',
    message: 'The request is not valid: send HTTP/1.1 (RFC 9112), with a NewPlant as JSON in UTF-8.',
  },
  401: {
    when: 'the token is missing or not valid',
    message: 'A valid token is required: send the header "Authorization: Bearer <ACCESS_TOKEN>".',
  },
  403: {
    when: 'the token is valid, but lacks the required scope',
    message: 'This token lacks the scope that the operation requires.',
  },
  404: {
    when: 'there is no such path',
    message: 'There is no such path.',
  },
  405: {
    when: 'the path does not support this method',
    message: 'This path does not support this method: use POST.',
    headers: { Allow: 'POST' },
  },
  408: {
    when: 'the request did not arrive in time',
    message: 'The request did not arrive in time: send it again without pauses.',
  },
  409: {
    when: 'the id already belongs to a plant with another name or tag',
    message: 'This id already belongs to a plant with another name or tag: choose another id.',
  },
  413: {
    when: 'the body is too large',
    message: 'The body is too large.',
  },
  415: {
    when: 'the media type is not application/json',
    message: 'Send the body uncompressed, with the header "Content-Type: application/json".',
  },
  417: {
    when: 'the request expects something other than 100-continue',
    message: 'This expectation is not supported: send "Expect: 100-continue", or no Expect header.',
  },
  422: {
    when: 'the body is JSON, but not a NewPlant',
    message: 'The body must be a JSON object with the fields of a NewPlant: id, name and optionally tag.',
  },
  429: {
    when: 'an application that embeds the store limits the rate of requests',
    message: 'There were too many requests: send the same request again later.',
  },
  431: {
    when: 'the URL and the headers together are too large',
    message: 'The URL and the headers together are too large: send shorter ones.',
  },
  500: {
    when: 'the service has a defect, which its log describes',
    message: 'The service failed. This is a defect of the service, not of the request.',
  },
  503: {
    when: 'the service is overloaded or shuts down, or its store or the identity provider cannot be reached in time',
    message: 'The service is temporarily unavailable: send the same request again after the seconds in Retry-After.',
    headers: { 'Retry-After': '1' },
  },
} as const satisfies Record<number, ErrorRow>;

/** A number of the error table. */
export type ErrorNumber = keyof typeof ERROR_TABLE;

export function isErrorNumber(number: number): number is ErrorNumber {
  return number in ERROR_TABLE;
}
