export interface ErrorRow {
  /** When a client meets this number; the documentation says it in the same words. */
  readonly when: string;
  /** The text of an answer that has nothing more exact to say. */
  readonly message: string;
  /** What every such answer carries beside its body. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Every failure that a client can meet, by its number: the HTTP status that would describe it,
 * had the contract another status than 400. The README and contract/openapi.yaml repeat this
 * table, and a test holds the three together.
 */
export const ERROR_TABLE = {
  400: {
    when: 'the request is not HTTP, or its body is absent, empty, not JSON, or not UTF-8',
    message: 'The request cannot be understood: send HTTP/1.1 as RFC 9112 has it, with a NewPlant as JSON in UTF-8.',
  },
  401: {
    when: 'there is no token, or not a valid one',
    message: 'A valid token is required: send the header "Authorization: Bearer <ACCESS_TOKEN>".',
  },
  403: {
    when: 'the token is valid, but may not do this',
    message: 'This token may not do this: it lacks the scope that the operation requires.',
  },
  404: {
    when: 'there is no such path',
    message: 'There is no such path: the only one is {base_url}/plants.',
  },
  405: {
    when: 'the path exists, the method does not',
    message: 'This path does not take this method: use one that the Allow header names.',
  },
  408: {
    when: 'the request did not arrive in time',
    message: 'The request did not arrive in time: send it again, without pauses.',
  },
  409: {
    when: 'the id already belongs to a plant with another name or tag',
    message: 'This id already belongs to a plant with another name or tag: choose another id.',
  },
  413: {
    when: 'the body is too large',
    message: 'The body is too large.',
  },
  414: {
    when: 'the URL is too long',
    message: 'The URL is too long: there is no need for more than {base_url}/plants.',
  },
  415: {
    when: 'the media type is not application/json',
    message: 'The body must be sent as it is, with the header "Content-Type: application/json".',
  },
  417: {
    when: 'the request expects something other than 100-continue',
    message: 'This expectation cannot be met: the only one that can is "Expect: 100-continue".',
  },
  422: {
    when: 'the body is JSON, but not a NewPlant',
    message: 'The body must be a JSON object with the fields of a NewPlant: id, name and optionally tag.',
  },
  431: {
    when: 'the headers are too large',
    message: 'The headers are too large: send fewer or shorter ones.',
  },
  500: {
    when: 'the service has a defect; it is in its log',
    message: 'The service failed. This is a defect of the service, not of the request.',
  },
  503: {
    when: 'the service is overloaded or shutting down, or its store or the identity provider cannot be reached in time',
    message: 'The service cannot do this now: send the same request again after the time in Retry-After.',
    headers: { 'Retry-After': '1' },
  },
} as const satisfies Record<number, ErrorRow>;

/** A number of the error table, and so an int32. */
export type ErrorNumber = keyof typeof ERROR_TABLE;

export function isErrorNumber(number: number): number is ErrorNumber {
  return number in ERROR_TABLE;
}
