import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { create } from '../support/client.js';
import { Paper } from '../support/paper.js';
import { ROOT } from '../support/root.js';
import { ServiceDirectory, WITH_TOKEN } from '../support/service-directory.js';

const MONITORING = new Paper('docs/monitoring.md');

/** The rules of deploy/prometheus-rules.yml. */
const { groups: GROUPS } = parse(readFileSync(join(ROOT, 'deploy/prometheus-rules.yml'), 'utf8')) as {
  groups: { rules: { alert: string; expr: string; labels: { severity: string } }[] }[];
};
const RULES = GROUPS.flatMap(({ rules }) => rules);

/** Returns the metrics that a PromQL expression reads, without the suffixes of histograms. */
function metricsIn(expression: string): string[] {
  const withoutLabels = expression.replace(/\{[^}]*\}|\b(?:by|without) \([^)]*\)|"[^"]*"/g, '');
  return (withoutLabels.match(/\b[a-z]+(?:_[a-z\d]+){2,}\b/g) ?? [])
    .filter((word) => word !== 'histogram_quantile')
    .map((name) => name.replace(/_(?:bucket|sum|count)$/, ''));
}

describe("The guide's metrics", () => {
  /** The name and type of each metric that a service exposes. */
  let exposed: string[];

  beforeAll(async () => {
    const directory = new ServiceDirectory();
    const { management } = await directory.startManaged();
    const text = await (await fetch(`${management}/metrics`)).text();
    await directory.remove();
    exposed = [...text.matchAll(/^# TYPE (\S+ \S+)$/gm)].map(([, metric = '']) => metric);
  });

  it('are exactly those of the service, beside the default metrics of prom-client', () => {
    const documented = MONITORING.tableIn('Metrics').map(([name, type]) => `${name} ${type}`);

    expect(documented.sort()).toEqual(exposed.filter((metric) => metric.startsWith('plant_store_')).sort());
  });

  it('include, with those, all that the alerts watch and the dashboard shows', () => {
    const dashboard = JSON.parse(readFileSync(join(ROOT, 'deploy/grafana-dashboard.json'), 'utf8')) as {
      panels: { targets: { expr: string }[] }[];
    };
    const expressions = [...RULES, ...dashboard.panels.flatMap(({ targets }) => targets)].map(({ expr }) => expr);
    const watched = expressions.flatMap(metricsIn);

    expect(watched).toContain('plant_store_http_request_duration_seconds');
    const names = exposed.map((metric) => metric.split(' ', 1)[0]);
    expect(watched.filter((name) => !names.includes(name))).toEqual([]);
  });
});

describe("The guide's alerts", () => {
  it('are exactly the rules, with their severities', () => {
    const documented = MONITORING.tableIn('Alerts').map(([alert, severity]) => [alert, severity]);

    expect(documented).toEqual(RULES.map(({ alert, labels }) => [alert, labels.severity]));
  });

  it.each(['prometheus.yml', 'prometheus-kubernetes.yml'])('watch the job of %s', (file) => {
    const { scrape_configs } = parse(readFileSync(join(ROOT, 'deploy', file), 'utf8')) as {
      scrape_configs: { job_name: string }[];
    };
    const [job] = scrape_configs;

    const jobs = RULES.flatMap(({ expr }) => [...expr.matchAll(/job="([^"]+)"/g)].map(([, name]) => name));
    expect([...new Set(jobs)]).toEqual([job?.job_name]);
  });
});

describe("The guide's fields of the log", () => {
  const documented = new Paper('docs/logs.md')
    .tableIn('Logs')
    .map(([names = '', lines = '']) => ({ names: names.replaceAll('`', '').split(', '), lines }));

  it('of lines of requests are exactly those of a message of the channel', () => {
    const source = readFileSync(join(ROOT, 'src/http/answer-event.ts'), 'utf8');
    const published = [...source.matchAll(/^ {2}readonly (\w+)/gm)].map(([, name]) => name);
    const ofRequests = documented.filter(({ lines }) => lines === 'lines of requests').flatMap(({ names }) => names);

    expect(ofRequests.sort()).toEqual(published.sort());
  });

  it('of other lines are exactly those of the lines of a start and of an error', async () => {
    const directory = new ServiceDirectory();
    const { service, url } = await directory.start(WITH_TOKEN);
    // The service takes the error of the trigger for a defect.
    directory
      .openDatabase()
      .exec("CREATE TRIGGER refusing BEFORE INSERT ON plants BEGIN SELECT RAISE(ABORT, 'no more plants'); END");
    await create(url);
    await service.stop();
    await directory.remove();
    const lines = service.lines.map((line) => JSON.parse(line) as object);
    const ofOthers = lines.filter((line) => !('requestId' in line)).flatMap((line) => Object.keys(line));

    const rows = documented.filter(({ lines }) => lines !== 'lines of requests');
    expect(rows.flatMap(({ names }) => names).sort()).toEqual([...new Set(ofOthers)].sort());
  });
});

describe("The guide's log messages", () => {
  /** Nest's names of levels, where the log has other ones. */
  const LEVELS: Readonly<Record<string, string>> = { log: 'info', verbose: 'trace' };
  const CALL = /(?:[lL]ogger(?:\('\w+'\))?|this)\.(log|warn|error|fatal|debug|verbose)\(\s*(['`])(.*?)\2[,)]/g;

  it('are in the sources, with their levels', () => {
    const sources = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
      .filter((file) => /(?<!\.spec)\.ts$/.test(file))
      .map((file) => readFileSync(join(ROOT, 'src', file), 'utf8'));
    const logged = [...sources.join('\n').matchAll(CALL)].map(
      ([, level = '', , text = '']) => `${LEVELS[level] ?? level}: ${text.replace(/\$\{[^}]*\}/g, '…')}`,
    );
    const documented = new Paper('docs/logs.md').tableIn('Lines').map(([line = '', level = '']) => `${level}: ${line}`);

    expect(documented.length).toBeGreaterThan(5);
    expect(documented.filter((line) => !logged.includes(line))).toEqual([]);
  });
});
