/** Options of Fastify for applications whose routes have no schemas: the compilers of schemas take 0.1 s to load. */
export const WITHOUT_SCHEMAS = {
  schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
};

function noCompiler(): never {
  throw new Error('The routes of this application have no schemas');
}
