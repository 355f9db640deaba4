import { Link } from 'wouter';

/** Tags, each leading to the contacts that have it. */
export function Tags({ of }: { of: readonly string[] }) {
  return (
    <span className="row">
      {of.map((tag) => (
        <Link key={tag} className="badge" href={`/contacts?tag=${encodeURIComponent(tag)}`}>
          {tag}
        </Link>
      ))}
    </span>
  );
}
