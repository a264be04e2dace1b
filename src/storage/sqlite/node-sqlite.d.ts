/** The types of Node 20 lack it. The package has the same API. */
declare module 'node:sqlite' {
  export { DatabaseSync } from '@photostructure/sqlite';
}
