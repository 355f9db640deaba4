import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse, parseAllDocuments } from 'yaml';

const DEPLOY = join(import.meta.dirname, '../../deploy');
const read = (path: string) => readFileSync(join(DEPLOY, path), 'utf8');
const documentsOf = (path: string) =>
  parseAllDocuments(read(path), { strict: true, uniqueKeys: true }).map((document) => {
    expect(document.errors).toEqual([]);
    return document.toJS();
  });

/** The packages of schemas, by the group of the objects. The group of `v1` has no name. */
const SCHEMAS: Readonly<Record<string, string>> = {
  v1: 'kubernetes-models/v1',
  'apps/v1': 'kubernetes-models/apps/v1',
  'policy/v1': 'kubernetes-models/policy/v1',
  'monitoring.coreos.com/v1': '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1',
};

interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
}

/**
 * Returns what the schemas of Kubernetes and of the Prometheus Operator say against objects. The compiler finds unknown
 * fields and wrong types, and a run of the program finds values out of their bounds.
 */
function schemaFaults(objects: readonly Manifest[]): string {
  const directory = mkdtempSync(join(tmpdir(), 'manifests-'));
  try {
    symlinkSync(join(import.meta.dirname, 'node_modules'), join(directory, 'node_modules'));
    writeFileSync(join(directory, 'package.json'), '{"type":"module"}');
    const program = objects.map(
      (
        object,
        index,
      ) => `import { type I${object.kind}, ${object.kind} } from '${SCHEMAS[object.apiVersion]}';
const object${index}: I${object.kind} = ${JSON.stringify(object, null, 2)};
new ${object.kind}(object${index}).validate();`,
    );
    writeFileSync(join(directory, 'manifests.ts'), program.join('\n'));
    const compiler = join(import.meta.dirname, '../../node_modules/typescript/bin/tsc');
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--types', ''];
    const run = (...args: string[]) => {
      const { status, stdout, stderr } = spawnSync(process.execPath, args, {
        cwd: directory,
        encoding: 'utf8',
      });
      return status === 0 ? '' : stdout + stderr;
    };
    return run(compiler, ...options, 'manifests.ts') + run('manifests.ts');
  } finally {
    rmSync(directory, { recursive: true });
  }
}

describe('the Kubernetes manifests', () => {
  const [set, ...others] = documentsOf('kubernetes/gateway.yaml');
  const [cluster] = documentsOf('kubernetes/postgres.yaml');

  it('name each object, and agree on the database and on the labels', () => {
    for (const { apiVersion, kind, metadata } of [set, ...others, cluster]) {
      expect({ apiVersion, kind, name: metadata.name }).toEqual({
        apiVersion: expect.stringMatching(/v1$/),
        kind: expect.any(String),
        name: expect.any(String),
      });
    }
    const { env } = set.spec.template.spec.containers[0];
    // CloudNativePG stores the connection to its cluster in a secret with this name.
    expect(env[0].valueFrom.secretKeyRef.name).toBe(`${cluster.metadata.name}-app`);
    const labels = set.spec.template.metadata.labels;
    for (const { spec } of others) expect(spec.selector.matchLabels ?? spec.selector).toEqual(labels);
  });

  it('have the fields of their schemas, and no others', () => {
    const [monitor] = documentsOf('kubernetes/monitoring.yaml');
    expect(schemaFaults([set, ...others, monitor])).toBe('');
    const [endpoint] = monitor.spec.podMetricsEndpoints;
    const misspelt = { ...monitor, spec: { ...monitor.spec, podMetricsEndpoint: [endpoint] } };
    expect(schemaFaults([misspelt])).toContain(`'"podMetricsEndpoint"' does not exist`);
    const often = { ...endpoint, interval: 'often' };
    const wrong = { ...monitor, spec: { ...monitor.spec, podMetricsEndpoints: [often] } };
    expect(schemaFaults([wrong])).toContain('/spec/podMetricsEndpoints/0/interval');
  });

  it('scrape each pod with the token of its secret, as the job that the alerts ask for', () => {
    const [monitor] = documentsOf('kubernetes/monitoring.yaml');
    const { metadata, spec } = set.spec.template;
    const [container] = spec.containers;
    const [endpoint] = monitor.spec.podMetricsEndpoints;
    expect(monitor.spec.selector.matchLabels).toEqual(metadata.labels);
    expect(metadata.labels[monitor.spec.jobLabel]).toBe('gateway');
    expect(container.ports.map(({ name }: { name: string }) => name)).toContain(endpoint.port);
    const { credentials } = endpoint.authorization;
    expect(credentials).toEqual({ name: container.envFrom[0].secretRef.name, key: 'METRICS_TOKEN' });
    // Scrapes by annotation have no token, so that they would get 401.
    expect(JSON.stringify(metadata)).not.toContain('prometheus.io');
  });

  it('give the gateway more time to stop than it takes to drain, and no privilege', () => {
    const pod = set.spec.template.spec;
    expect(pod.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(40);
    expect(pod.securityContext.runAsNonRoot).toBe(true);
    expect(pod.containers[0].securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });
});

describe('the compose file', () => {
  const { services, volumes, configs } = parse(read('compose.yaml'), { uniqueKeys: true });

  it('names only volumes and configurations that it has', () => {
    for (const service of Object.values<{ volumes?: string[]; configs?: { source: string }[] }>(services)) {
      for (const volume of service.volumes ?? []) {
        const [source = ''] = volume.split(':');
        if (!source.startsWith('.')) expect(Object.keys(volumes)).toContain(source);
      }
      for (const { source } of service.configs ?? []) expect(Object.keys(configs)).toContain(source);
    }
  });

  it('publishes every port on loopback only', () => {
    const ports = Object.values<{ ports?: string[] }>(services).flatMap(({ ports = [] }) => ports);
    expect(ports.length).toBeGreaterThan(0);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });
});
