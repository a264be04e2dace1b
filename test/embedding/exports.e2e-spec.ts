import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';
import * as index from '../../src/index.js';
import { ROOT } from '../support/root.js';

/** The names that embedding applications import: one that is added, renamed or removed is a change for them. */
const VALUES = [
  'BearerAuthGuard',
  'ContractException',
  'ContractExceptionFilter',
  'CurrentPrincipal',
  'JwtVerifier',
  'NewPlantDto',
  'OperatorError',
  'PLANTS_OPTIONS',
  'PlantDto',
  'PlantRepository',
  'PlantsController',
  'PlantsModule',
  'PlantsService',
  'RepositoryUnavailableError',
  'RequiresScope',
  'TokenFileVerifier',
  'TokenVerifier',
  'principalOf',
  'unparsedBody',
];
const TYPES = [
  'ErrorNumber',
  'JwtSettings',
  'JwtType',
  'Outcome',
  'PlantCreatedListener',
  'PlantSnapshot',
  'PlantsModuleOptions',
  'PlantsOptionsFactory',
  'Principal',
  'Refusal',
  'RefusalReason',
  'StoredPlant',
  'VerificationResult',
];

/** Returns the names of the types that the source exports. */
function exportedTypes(): string[] {
  const source = readFileSync(join(ROOT, 'src/index.ts'), 'utf8');
  const names: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isExportSpecifier(node)) {
      if (node.isTypeOnly || node.parent.parent.isTypeOnly) names.push(node.name.text);
    } else if (!ts.isIdentifier(node) && !ts.isStringLiteral(node)) node.forEachChild(visit);
  };
  visit(ts.createSourceFile('index.ts', source, ts.ScriptTarget.Latest, true));
  return names.sort();
}

describe('src/index.ts', () => {
  it('exports exactly these values and types', () => {
    expect(Object.keys(index).sort()).toEqual(VALUES);
    expect(exportedTypes()).toEqual(TYPES);
  });

  it('exports a service without a method that expects a plant to be checked', () => {
    expect(Object.getOwnPropertyNames(index.PlantsService.prototype)).toEqual([
      'constructor',
      'create',
      'snapshot',
      'onApplicationShutdown',
    ]);
  });
});
