import { type Kysely, sql } from 'kysely';

export async function up(database: Kysely<never>): Promise<void> {
  await database.schema
    .createTable('plants')
    // Another instance may be here, too, and not every engine takes schema changes back with their transaction.
    .ifNotExists()
    .addColumn('id', 'bigint', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('tag', 'text')
    .execute();
  const citus = await sql`SELECT 1 FROM pg_extension WHERE extname = 'citus'`.execute(database);
  if (citus.rows.length === 0) return;
  const distributed = await sql`SELECT 1 FROM pg_dist_partition WHERE logicalrelid = 'plants'::regclass`.execute(
    database,
  );
  if (distributed.rows.length === 0) await sql`SELECT create_distributed_table('plants', 'id')`.execute(database);
}
