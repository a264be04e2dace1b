/** Bytes of a request body, unless another limit is configured. Apart, so that config/ does not load class-validator. */
export const DEFAULT_BODY_LIMIT = 1_048_576;
