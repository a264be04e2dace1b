import { licensePlugin } from 'rolldown-license-plugin';

/** Packages that Nest, Fastify and pg load only where they are installed, and SQLite's, which has native code. */
const NOT_BUNDLED =
  /^(?:@photostructure\/sqlite|@nestjs\/(?:microservices|platform-express|websockets)|@fastify\/(?:multipart|view)|pg-native)(?:\/|$)/;

/** Writes the licences of the bundled packages, because most of them demand it. Some have theirs in their README. */
const licences = licensePlugin({
  match: /^(?:licen[cs]e|copying|readme)/i,
  done(packages, context) {
    const texts = packages.map(({ name, version, licenseText }) => `${name} ${version}\n\n${licenseText.trim()}\n`);
    context.emitFile({ type: 'asset', fileName: 'third-party-licenses.txt', source: texts.join('\n\n') });
  },
});

/** Bundles the service with its packages, for the npm package and the image: it then starts in half the time. */
export default {
  input: 'dist/main.js',
  platform: 'node',
  external: NOT_BUNDLED,
  plugins: [licences],
  // Nest identifies classes by name.
  output: { chunkFileNames: 'chunks/[name].js', keepNames: true },
};
