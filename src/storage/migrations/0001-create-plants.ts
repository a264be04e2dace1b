import { type Kysely, sql } from 'kysely';

export async function up(database: Kysely<never>): Promise<void> {
  await database.schema
    .createTable('plants')
    // SQLite: a primary key of this type is the row's own address, and holds exactly an int64.
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('tag', 'text')
    .modifyEnd(sql`strict`)
    .execute();
}
