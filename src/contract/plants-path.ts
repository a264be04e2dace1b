/** The path of the operation, below {base_url} or the prefix of the application. */
export const PLANTS_PATH = 'plants';
