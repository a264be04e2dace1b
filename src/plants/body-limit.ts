/** Bytes of a request body, unless another limit is configured. */
export const DEFAULT_BODY_LIMIT = 1_048_576;
