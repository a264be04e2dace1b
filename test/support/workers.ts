/** With how many workers services start: in the project `workers` of jest.config.js, more than one. */
export const WORKERS = Number(Reflect.get(globalThis, 'WORKERS') ?? 1);
