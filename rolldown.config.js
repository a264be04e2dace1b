import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Optional packages of pg, Nest and Fastify. */
const LEFT_OUT =
  /^(?:pg-native|light-my-request|@fastify\/(?:ajv-compiler|fast-json-stringify-compiler|multipart|view)|@nestjs\/(?:microservices|platform-express|websockets))(?:\/|$)/;

/** The beginning of each command: --version and --help load nothing else of ours. */
const PROGRAM =
  /[\\/]node_modules[\\/]commander[\\/]|[\\/]dist[\\/](?:config[\\/]|(?:loopback-host|operator-error|operator-text)\.|commands[\\/]command-line\.|process[\\/](?:describe-error|signals|version)\.|contract[\\/]plant-fields\.|storage[\\/](?:database-url|engines|plant-repository)\.)/;

/** Small modules that several commands share. In the chunk of the service, they would bring all of it. */
const SHARED =
  /[\\/]dist[\\/](?:files[\\/]|auth[\\/](?:static-tokens|token-file)\.|storage[\\/](?:engine-errors|error-messages|plant-rows|retry|schema-state|trial-plants|sqlite[\\/](?:errors|open|schema|statements))\.)/;

/** The rules of POST /plants and the group commit, with the packages that they need: an import loads them without the service. */
const RULES = /[\\/]dist[\\/](?:plants[\\/]parse-new-plant|storage[\\/]group-commit)\.js$/;

/** Keeps V8 from storing a file with two bytes a character, as it does for one with a character beyond Latin-1. */
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
 * Makes V8 compile a CommonJS package completely when it reads the chunk, and not scan it first: a function expression in
 * parentheses, other than an arrow function, is likely to be called. This takes a tenth off the start.
 */
const compiledAtOnce = {
  name: 'compiled-at-once',
  generateBundle(_options, bundle) {
    for (const chunk of Object.values(bundle)) {
      chunk.code = chunk.code?.replace(/(?<=__commonJSMin\(\()\(([\w$, ]*)\) =>/g, 'function ($1)');
    }
  },
};

/**
 * Lets Nest's loggers load the calendar of ICU when they first write a time: the service replaces them. This takes a
 * twentieth off the start.
 */
const withoutCalendar = {
  name: 'without-calendar',
  transform(code, id) {
    if (!/[\\/]@nestjs[\\/]common[\\/]services[\\/](?:console-)?logger\.service\.js$/.test(id)) return null;
    return code.replace(/= (new Intl\.DateTimeFormat\([^]*?\}\));/, '= { format: (date) => $1.format(date) };');
  },
};

/** The files of Swagger UI that the docs page loads, and their licences. */
const SWAGGER_UI =
  /^(?:favicon-.*\.png|swagger-ui\.css|swagger-ui-(?:bundle|standalone-preset)\.js(?:\.LICENSE\.txt)?|LICENSE|NOTICE)$/;

/** Copies Swagger UI to dist/swagger-ui. */
const swaggerUi = {
  name: 'swagger-ui',
  generateBundle() {
    const directory = join(import.meta.dirname, 'node_modules/swagger-ui-dist');
    for (const file of readdirSync(directory).filter((name) => SWAGGER_UI.test(name))) {
      this.emitFile({ type: 'asset', fileName: `swagger-ui/${file}`, source: readFileSync(join(directory, file)) });
    }
  },
};

/** Writes the licences of the bundled packages to dist/third-party-licenses.txt, because most of them demand it. */
const licences = {
  name: 'licences',
  generateBundle(_options, bundle) {
    const modules = Object.values(bundle).flatMap(({ moduleIds = [] }) => moduleIds);
    const directories = new Set(
      modules.map((id) => /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+/.exec(id)?.[0]),
    );
    const texts = [...directories].filter(Boolean).map(describeLicence).sort();
    this.emitFile({ type: 'asset', fileName: 'third-party-licenses.txt', source: texts.join('\n\n') });
  },
};

/** Returns the text of a licence file or, if there is none, the section on the licence in the package's README. */
function describeLicence(directory) {
  const { name, version } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  const readFirst = (pattern) => {
    const file = readdirSync(directory).find((entry) => pattern.test(entry));
    return file === undefined ? undefined : readFileSync(join(directory, file), 'utf8').trim();
  };
  const section = () => /^#+ *licen[cs]e[^]*/im.exec(readFirst(/^readme/i) ?? '')?.[0];
  const text = readFirst(/^(?:licen[cs]e|copying)(?:[.-]|$)/i) ?? section();
  if (text === undefined) throw new Error(`${name} has no licence`);
  return `${name} ${version}\n\n${text}\n`;
}

/**
 * Bundles dist/main.js and its packages, which then starts in a fraction of the time. Dynamic imports stay dynamic.
 * The other files of dist/ stay as `nest build` makes them, for hosts.
 */
export default {
  input: 'dist/main.js',
  platform: 'node',
  external: (id, importer = '') =>
    // Nest's own ValidationPipe is not used. It would bring all of class-validator.
    LEFT_OUT.test(id) || (/^class-(?:transformer|validator)/.test(id) && /[\\/]@nestjs[\\/]/.test(importer)),
  // ES modules can be tree-shaken. Packages with `exports` choose by themselves.
  resolve: {
    mainFields: ['es2015', 'module', 'main'],
    alias: { rxjs: join(import.meta.dirname, 'node_modules/rxjs/dist/esm') },
  },
  plugins: [asAscii, compiledAtOnce, withoutCalendar, swaggerUi, licences],
  output: {
    dir: 'dist',
    chunkFileNames: 'chunks/[name].js',
    comments: { annotation: false, jsdoc: false },
    // Nest identifies classes by name, and stacks show names.
    keepNames: true,
    codeSplitting: {
      groups: [
        { name: 'program', test: PROGRAM, priority: 2 },
        { name: 'shared', test: SHARED, priority: 1 },
        { name: 'rules', test: RULES },
        { name: 'service', test: /[\\/]dist[\\/]process[\\/]start-stop\.js$/ },
      ],
    },
  },
};
