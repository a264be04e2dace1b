/** Fastify's options for applications whose routes have no schemas: without them, schema compilers delay each start. */
export const WITHOUT_SCHEMAS = {
  schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
};

function noCompiler(): never {
  throw new Error('The routes of this application have no schemas');
}
