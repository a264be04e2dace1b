import js from '@eslint/js';
import tseslint from 'typescript-eslint';

/**
 * Imports run downward: the rooms of src/, and the rooms that each may import from. All may import the small files
 * beside the rooms: operator-error.ts and loopback-host.ts.
 */
const ROOMS = {
  commands: ['auth', 'config', 'contract', 'files', 'plants', 'process', 'storage'],
  process: ['auth', 'config', 'files', 'logging', 'management', 'storage'],
  // Settings take their rules and defaults from the rooms that use them.
  config: ['auth', 'files', 'plants', 'storage'],
  management: ['auth', 'contract', 'http', 'storage'],
  logging: ['http'],
  http: ['auth', 'contract', 'plants'],
  plants: ['auth', 'contract', 'storage'],
  auth: ['contract', 'files'],
  storage: ['files'],
  contract: [],
  files: [],
};

/** Packages that only some rooms may import. */
const KEPT_IN = [
  [['auth'], ['jose']],
  [['commands'], ['csv-parse', 'csv-stringify']],
  [['commands', 'main'], ['commander']],
  [['storage'], ['@photostructure/sqlite', 'pg']],
  [
    ['http', 'management'],
    ['fastify', '@nestjs/platform-fastify'],
  ],
  [['management'], ['@nestjs/terminus', 'js-yaml', 'prom-client']],
];

const UNUSED_RESULTS = {
  selector: 'ExpressionStatement > CallExpression[callee.name=/^(?:de|en)codeURI(?:Component)?$/]',
  message: 'Rolldown 1.2 removes this call from the bundle, even in a `try`: use its result.',
};

const layering = Object.entries(ROOMS).map(([room, below]) => {
  const others = Object.keys(ROOMS).filter((other) => other !== room && !below.includes(other));
  return {
    files: [`src/${room}/**/*.ts`],
    rules: restrictImports([
      {
        regex: `^(?:\\.\\./)+(?:${others.join('|')})/`,
        message: `${room}/ must not import from this room.`,
      },
      {
        regex: room === 'process' ? '/(?:main|index)\\.js$' : '/(?:main|index|app\\.module)\\.js$',
        message: `${room}/ must not import from above.`,
      },
      ...foreignPackages(room),
    ]),
  };
});

/** Returns rules against imports; `no-restricted-imports` does not see `import()`. */
function restrictImports(patterns) {
  const dynamic = patterns.map(({ regex, message }) => ({
    // A selector has no other way to write a slash in a regular expression.
    selector: `ImportExpression[source.value=/${regex.replaceAll('/', '\\x2f')}/]`,
    message,
  }));
  return {
    'no-restricted-imports': ['error', { patterns }],
    'no-restricted-syntax': ['error', UNUSED_RESULTS, ...dynamic],
  };
}

function foreignPackages(room) {
  return KEPT_IN.filter(([owners]) => !owners.includes(room)).map(([owners, packages]) => ({
    regex: `^(?:${packages.join('|')})(?:/|$)`,
    message: `Only ${owners.join('/ and ')}/ may import it.`,
  }));
}

export default tseslint.config(
  { ignores: ['**/dist/', 'coverage/'] },
  js.configs.recommended,
  { files: ['**/*.js'], languageOptions: { globals: { console: false, fetch: false, process: false } } },
  {
    files: ['bench/**/*.js'],
    languageOptions: {
      globals: {
        Buffer: false,
        clearTimeout: false,
        performance: false,
        setImmediate: false,
        setTimeout: false,
        URL: false,
      },
    },
  },
  {
    files: ['**/*.ts'],
    extends: [...tseslint.configs.strictTypeChecked, ...tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: {
        project: './test/tsconfig.json',
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      // A Nest module is often an empty class with a decorator.
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      // TypeScript's types are structural, and so are Nest's options and our DTOs.
      '@typescript-eslint/no-unsafe-class-instance-assignment': 'off',
      'no-restricted-syntax': ['error', UNUSED_RESULTS],
      'no-restricted-properties': [
        'error',
        {
          object: 'process',
          property: 'env',
          message: 'Only config/ may read it.',
        },
      ],
    },
  },
  {
    // The methods of a repository return promises, and SQLite has nothing to wait for.
    files: ['src/storage/sqlite/*.ts'],
    rules: { '@typescript-eslint/require-await': 'off' },
  },
  // The packages of the peers are not installed, so there are no types.
  { files: ['bench/peers/*.ts'], extends: [tseslint.configs.disableTypeChecked] },
  ...['app.module', 'index', 'main'].map((name) => ({
    files: [`src/${name}.ts`],
    rules: restrictImports(foreignPackages(name)),
  })),
  ...layering,
  {
    // tokens.ts reads a variable of systemd, which is no setting.
    files: ['src/config/**/*.ts', 'src/process/tokens.ts', 'test/**/*.ts', 'examples/**/*.ts', 'bench/**/*.ts'],
    rules: { 'no-restricted-properties': 'off' },
  },
);
