import { createHash } from 'node:crypto';
import ts from 'typescript';

const compilerOptions = {
  target: ts.ScriptTarget.ES2022,
  module: ts.ModuleKind.ES2022,
  experimentalDecorators: true,
  emitDecoratorMetadata: true,
  inlineSourceMap: true,
  inlineSources: true,
};

const SETTINGS = JSON.stringify([ts.version, compilerOptions]);

/** Compiles each file for Jest with TypeScript itself, as `nest build` does, but without a check of its types. */
export default {
  process(source, fileName) {
    return { code: ts.transpileModule(source, { fileName, compilerOptions }).outputText };
  },
  getCacheKey(source, fileName) {
    return createHash('sha256')
      .update(JSON.stringify([SETTINGS, fileName, source]))
      .digest('hex');
  },
};
