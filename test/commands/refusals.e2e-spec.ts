import { chmodSync, readdirSync, readFileSync } from 'node:fs';
import { ServiceDirectory } from '../support/service-directory.js';

const POSTGRES = 'postgres://localhost/plants';
const MEMORY = 'sqlite::memory:';

/** Too long for a draft beside it. */
const LONG = 'n'.repeat(225);

const directory = ServiceDirectory.ofEachTest();

describe('A command that cannot do its work fails with one line, and changes nothing:', () => {
  it.each<{ command: string; url?: string; status: number; complaint: RegExp }>([
    { command: 'backup', status: 2, complaint: /missing required argument 'file'$/ },
    { command: 'backup ', status: 2, complaint: /'' is invalid for argument 'file'\. Name a file\.$/ },
    { command: 'backup b.db', url: POSTGRES, status: 2, complaint: /pg_dump/ },
    { command: 'backup b.db', url: MEMORY, status: 2, complaint: /in memory/ },
    { command: 'backup b.db', url: 'sqlite:none.db', status: 1, complaint: /no database none\.db: DATABASE_URL/ },
    {
      command: 'backup elsewhere/b.db',
      status: 1,
      complaint: /elsewhere\/b\.db cannot be written: ENOENT: no such file or directory/,
    },
    {
      command: 'backup data/plants.db/b.db',
      status: 1,
      complaint: /plants\.db\/b\.db cannot be written: ENOTDIR: not a directory/,
    },
    { command: 'backup b/', status: 2, complaint: /'b\/' is invalid for argument 'file'\. Name a file\.$/ },
    { command: 'backup data/plants.db', status: 1, complaint: /data\/plants\.db already exists: name another file$/ },
    { command: `backup ${LONG}`, status: 1, complaint: /n+ cannot be written: ENAMETOOLONG: name too long/ },
    { command: `export ${LONG}.csv`, status: 1, complaint: /n+\.csv cannot be written: ENAMETOOLONG: name too long/ },
    { command: 'restore b.db', url: 'sqlite:none.db', status: 1, complaint: /there is no file b\.db/ },
    { command: 'restore b.db', url: POSTGRES, status: 2, complaint: /plant-store import, or with pg_restore/ },
    { command: 'export ', status: 2, complaint: /'' is invalid for argument 'file'\. Name a file\.$/ },
    { command: 'export a/', status: 2, complaint: /'a\/' is invalid for argument 'file'\. Name a file\.$/ },
    { command: 'restore b.db', url: MEMORY, status: 2, complaint: /in memory/ },
    { command: 'export', url: MEMORY, status: 2, complaint: /in memory/ },
    { command: 'import', url: MEMORY, status: 2, complaint: /in memory/ },
    { command: 'verify', url: MEMORY, status: 2, complaint: /in memory/ },
    { command: 'export', url: 'sqlite:none.db', status: 1, complaint: /no database none\.db: DATABASE_URL/ },
    {
      // The database is not opened for a file that cannot be created.
      command: 'export --format csv data/plants.db',
      url: 'sqlite:none.db',
      status: 1,
      complaint: /data\/plants\.db already exists: name another file$/,
    },
    { command: 'export data/plants.db', status: 2, complaint: /use \.ndjson or \.csv, or pass --format$/ },
    { command: 'import .', status: 2, complaint: /\. is not a regular file: name one, or pass .+ import - < file$/ },
    {
      command: 'import none',
      url: 'sqlite:none.db',
      status: 2,
      complaint: /there is no file none: name one that exists$/,
    },
    {
      command: 'export elsewhere/a.csv',
      url: 'sqlite:none.db',
      status: 1,
      complaint: /elsewhere\/a\.csv cannot be written: ENOENT: no such file or directory/,
    },
    {
      command: 'export --too=postgres://plants:password@a/b',
      status: 2,
      complaint: /unknown option '--too=postgres:\/\/a\/b'$/,
    },
    { command: 'postgres://plants:pass/w@rd@a/b', status: 2, complaint: /unknown command 'postgres:\/\/a\/b'$/ },
    {
      command: 'restore postgres://plants:password@a/b',
      url: 'sqlite:none.db',
      status: 1,
      complaint: /no file postgres:\/\/a\/b:/,
    },
    { command: 'import postgres://plants:password@a/b', status: 2, complaint: /no file postgres:\/\/a\/b:/ },
    { command: 'check now', status: 2, complaint: /too many arguments for 'check'/ },
  ])('$command', async ({ command, url = '', status, complaint }) => {
    await directory.store([]);
    const before = readFileSync(directory.file('data/plants.db'));
    const [name = '', ...parameters] = command.split(' ');

    const run = await directory.run(name, parameters, { DATABASE_URL: url });

    expect(run).toEqual({ status, stdout: '', stderr: expect.stringMatching(/^plant-store: [^\n]+\n$/) as unknown });
    expect(run.stderr.trimEnd()).toMatch(complaint);
    expect(readdirSync(directory.path)).toEqual(['data']);
    expect(readFileSync(directory.file('data/plants.db')).equals(before)).toBe(true);
  });

  it.each(['export', 'verify', 'backup b.db'])('%s of a database that this user may not look for', async (command) => {
    await directory.store([]);
    chmodSync(directory.file('data'), 0o600);
    // Root may ignore the modes of files.
    const wrapper = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search'] : [];
    const [name = '', ...parameters] = command.split(' ');

    const run = await directory.run(name, parameters, {}, '', { wrapper });

    chmodSync(directory.file('data'), 0o700);
    expect(run).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^plant-store: the database data\/plants\.db cannot be used: EACCES: [^\n]+\n$/,
      ) as unknown,
    });
  });

  it('any command that cannot write its result to stdout', async () => {
    await directory.store([]);
    const wrapper = ['sh', '-c', 'exec "$@" > /dev/full', 'sh'];

    expect(await directory.run('verify', ['--json'], {}, '', { wrapper })).toEqual({
      status: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^plant-store: stdout cannot be written: ENOSPC: no space left on device[^\n]+\n$/,
      ) as unknown,
    });
  });

  it('a misspelled command, with a suggestion', async () => {
    expect(await directory.run('exprt')).toEqual({
      status: 2,
      stdout: '',
      stderr: "plant-store: unknown command 'exprt'\n(Did you mean export?)\n",
    });
  });
});
