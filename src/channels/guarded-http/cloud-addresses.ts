/**
 * IP addresses of services that a cloud offers to its own machines: metadata, credentials, agents, time, volumes.
 * Customers must not reach them. Some are in public ranges (168.63.129.16, IBM's endpoints). Others are in ranges that
 * operators allow (fd00::/8, 100.64.0.0/10). Public name servers are not in the list: they use port 53, which webhooks
 * may not use (`open-ports.ts`).
 */
export interface CloudAddress {
  /** An IP address, or a network in CIDR notation. */
  readonly network: string;
  /** Titles of the vendors' pages that name the address. */
  readonly sources: readonly string[];
}

export const CLOUD_ADDRESSES: readonly CloudAddress[] = [
  {
    network: '169.254.169.254',
    sources: [
      'AWS, Amazon EC2: Use the Instance Metadata Service',
      'Microsoft Azure: Azure Instance Metadata Service',
      'Google Cloud, Compute Engine: About VM metadata',
      'Oracle Cloud Infrastructure: Getting Instance Metadata',
      'IBM Cloud: VPC Identity API, Endpoint URLs',
      'DigitalOcean: Metadata API',
      'Hetzner Cloud: Server metadata',
      'OpenStack, Nova: Metadata service',
      'Vultr: Metadata API',
      'Akamai (Linode): Metadata Service API',
    ],
  },
  {
    // The range contains: metadata, name server (169.254.169.253), time (…169.123), licences (…169.250), credentials of
    // ECS (…170.2) and of EKS (…170.23).
    network: '169.254.168.0/22',
    sources: [
      'AWS, Amazon VPC: Configure route tables (ranges reserved for AWS services)',
      'AWS: IPv6 on AWS, Supporting Amazon VPC services',
      'AWS, Amazon ECS: Task IAM role',
      'AWS, Amazon EKS: How EKS Pod Identity works',
    ],
  },
  {
    // The services of 169.254.168.0/22 over IPv6: fd00:ec2::254, ::253, ::123, ::250, ::23.
    network: 'fd00:ec2::/32',
    sources: ['AWS, Amazon VPC: Configure route tables (ranges reserved for AWS services)'],
  },
  { network: '168.63.129.16', sources: ['Microsoft Azure: What is IP address 168.63.129.16?'] },
  { network: 'fd20:ce::254', sources: ['Google Cloud, Compute Engine: Query VM metadata (IPv6-only)'] },
  {
    network: 'fd00:c1::a9fe:a9fe',
    sources: ['Oracle Cloud Infrastructure: Getting Instance Metadata (IPv6)'],
  },
  {
    network: '169.254.0.2',
    sources: ['Oracle Cloud Infrastructure: Essential Firewall Rules (boot volume)'],
  },
  { network: '169.254.0.3', sources: ['Oracle Cloud Infrastructure: Essential Firewall Rules (updates)'] },
  { network: '169.254.2.0/24', sources: ['Oracle Cloud Infrastructure: Essential Firewall Rules (volumes)'] },
  { network: '192.0.0.192', sources: ['Oracle Cloud Infrastructure Classic: Retrieving instance metadata'] },
  { network: '100.100.100.200', sources: ['Alibaba Cloud, ECS: Instance metadata'] },
  { network: '169.254.0.23', sources: ['Tencent Cloud, CVM: Querying Instance Metadata'] },
  { network: '161.26.0.0/16', sources: ['IBM Cloud, VPC: Service endpoints (infrastructure)'] },
  { network: '166.8.0.0/14', sources: ['IBM Cloud, VPC: Service endpoints (cloud services)'] },
  { network: 'fe80::a9fe:a9fe', sources: ['OpenStack, Neutron: IPv6 support in Metadata service'] },
  { network: '169.254.42.42', sources: ['Scaleway: Instance metadata', 'cloud-init: Scaleway'] },
  { network: 'fd00:42::42', sources: ['Scaleway: Instance metadata', 'cloud-init: Scaleway'] },
  { network: 'fd00:a9fe:a9fe::1', sources: ['Akamai (Linode): Metadata Service API'] },
  { network: '169.254.20.10', sources: ['Kubernetes: Using NodeLocal DNSCache'] },
];
