import bearerAuth from '@fastify/bearer-auth';
import Fastify from 'fastify';

const plant = { name: { type: 'string' }, tag: { type: 'string' } };

const schema = {
  body: { type: 'object', required: ['id', 'name'], properties: { id: { type: 'integer' }, ...plant } },
  response: { 200: { type: 'object', required: ['name'], properties: plant } },
};

/** Serves POST /plants; `insert` stores one plant. */
export async function serve(insert) {
  const fastify = Fastify({ logger: true });
  await fastify.register(bearerAuth, { keys: new Set([process.env.TOKEN]) });
  fastify.post('/plants', { schema }, async ({ body }) => {
    await insert(body);
    return body;
  });
  console.log(`Listening: ${await fastify.listen({ host: '127.0.0.1', port: 0 })}`);
}
