import { readFileSync } from 'node:fs';
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
