import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { plainToInstance } from 'class-transformer';
import { ContractException } from '../contract/contract.exception.js';
import { GroupCommit } from '../storage/group-commit.js';
import { openRepository } from '../storage/open-repository.js';
import { Admission } from './admission.js';
import { NewPlantDto } from './dto/new-plant.dto.js';
import { PlantDto } from './dto/plant.dto.js';
import { PlantsService } from './plants.service.js';

describe('PlantsService', () => {
  it.each([
    { id: 1n, name: 'Monstera', tag: 'indoor' },
    { id: 2n, name: '', tag: '' },
    { id: 3n, name: 'Aloe' },
  ])('answers %p with what PlantDto exposes of it', async (fields) => {
    const repository = await openRepository('sqlite::memory:');
    const service = new PlantsService(repository, new GroupCommit(repository), new Admission(1_000), {});
    const plant = Object.assign(new NewPlantDto(), fields);

    const created = await service.create(plant);

    expect(created).toBeInstanceOf(PlantDto);
    expect(created).toStrictEqual(
      plainToInstance(PlantDto, plant, { excludeExtraneousValues: true, exposeUnsetFields: false }),
    );
    await repository.close();
  });

  it('charges two bytes for each UTF-16 unit of a plant until it is stored', async () => {
    const repository = await openRepository('sqlite::memory:');
    const admission = new Admission(1_000);
    const service = new PlantsService(repository, new GroupCommit(repository), admission, {});
    const newAnswer = (): ServerResponse => new ServerResponse(new IncomingMessage(new Socket()));

    const created = service.create({ id: 1n, name: 'x'.repeat(2 ** 24) });

    // All bytes for bodies are taken.
    expect(() => admission.admit(newAnswer())).toThrow(new ContractException(503));
    await created;
    expect(() => admission.admit(newAnswer())).not.toThrow();
    await repository.close();
  });
});
