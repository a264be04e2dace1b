import { join } from 'node:path';

/** Binaries, what only a person who reads the documentation needs, and what Nest and Fastify have for others. */
const LEFT_OUT =
  /^(?:better-sqlite3|pg|light-my-request|@fastify\/(?:ajv-compiler|fast-json-stringify-compiler|multipart|static|view)|@nestjs\/(?:microservices|platform-express|websockets))(?:\/|$)/;

/** Takes one byte a character in memory, where a single character beyond Latin-1 would make it two for all of a file. */
const asAscii = {
  name: 'as-ascii',
  generateBundle(_options, bundle) {
    for (const chunk of Object.values(bundle)) {
      chunk.code = chunk.code?.replace(
        /[^\0-\x7f]/g,
        (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
      );
    }
  },
};

/**
 * Makes a service that starts in a fraction of the time of what `nest build` has left in dist/main.js and in hundreds of
 * files of packages. Lazy imports stay lazy. Other files of dist/ stay as they are, for hosts and commands.
 */
export default {
  input: 'dist/main.js',
  platform: 'node',
  external: (id, importer = '') =>
    // Nest validates nothing here. All of class-validator would come for it, with the phone numbers of the world.
    LEFT_OUT.test(id) || (/^class-(?:transformer|validator)/.test(id) && /[\\/]@nestjs[\\/]/.test(importer)),
  // As ES modules, of which what nobody uses can be left out; packages that have exports decide for themselves.
  resolve: {
    mainFields: ['es2015', 'module', 'main'],
    alias: { rxjs: join(import.meta.dirname, 'node_modules/rxjs/dist/esm') },
  },
  plugins: [asAscii],
  output: {
    dir: 'dist',
    chunkFileNames: 'chunks/[name].js',
    comments: { annotation: false, jsdoc: false },
    // Nest tells classes by them, and people the lines of a stack.
    keepNames: true,
    codeSplitting: {
      groups: [
        { name: 'configuration', test: /[\\/]dist[\\/]config[\\/]/, priority: 1 },
        { name: 'service', test: /[\\/]dist[\\/]service\.js$/ },
      ],
    },
  },
};
