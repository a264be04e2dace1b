import type { Command } from 'commander';
import { findRemovedSettings, loadConfiguration } from '../config/load-configuration.js';
import { openCertificate } from '../process/certificate-files.js';
import { openTokens } from '../process/tokens.js';
import { engineOf } from '../storage/engines.js';
import { JSON_OPTION, printSummary, type ReportOptions } from './command-line.js';

export function configure(command: Command): void {
  command
    .description(
      'Checks the configuration, its files and the database, and changes none of them. ' +
        'It does not use the ports, so the service may be running.',
    )
    .option(...JSON_OPTION)
    .addHelpText('after', '\nExample:\n  plant-store check && systemctl restart plant-store')
    .action(run);
}

async function run(options: ReportOptions): Promise<void> {
  const configuration = loadConfiguration();
  for (const warning of findRemovedSettings()) process.stderr.write(`warning: ${warning}\n`);
  const tokens = openTokens(configuration);
  const certificate = openCertificate(configuration);
  certificate?.assertValid();
  const expires = certificate?.expires;
  const engine = await engineOf(configuration.databaseUrl);
  const database = await engine.inspect(configuration.store);
  const { jwtIssuer: issuer, jwtAudience: audiences = [] } = configuration;
  printSummary(
    {
      tokens: tokens.count,
      jwt: issuer === undefined ? null : { issuer, audiences },
      certificate: expires === undefined ? null : { expires },
      database,
    },
    [
      'configuration: ok',
      `tokens: ${tokens.count}`,
      ...(issuer === undefined ? [] : [`jwt: ${issuer} for ${audiences.join(', ')}`]),
      `certificate: ${expires === undefined ? 'none' : `ok, it expires at ${expires.toISOString()}`}`,
      `database: ${database === 'present' ? 'ok' : 'ok, a start creates it'}`,
    ].join('\n'),
    options,
  );
}
