import { Link } from 'wouter';
import { useInEnvironment } from '../../lib/environment.ts';

/** Shows tags as links. A link opens the list of contacts that have the tag. */
export function Tags({ of }: { of: readonly string[] }) {
  const inEnvironment = useInEnvironment();
  return (
    <span className="row">
      {of.map((tag) => (
        <Link key={tag} className="badge" href={inEnvironment(`/contacts?tag=${encodeURIComponent(tag)}`)}>
          {tag}
        </Link>
      ))}
    </span>
  );
}
